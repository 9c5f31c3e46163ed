"""The program's words as frozen data, and the ports to everything outside. No I/O here."""
