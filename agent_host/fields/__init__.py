"""Front matter and settings files, read key by key with line numbers and plain complaints."""
