"""MCP servers as sources of tools: reached by lines or by HTTP, supervised, never trusted."""
