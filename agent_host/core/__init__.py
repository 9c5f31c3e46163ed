"""The program's words as frozen data, and the ports to everything outside. Standard library only, no I/O."""
