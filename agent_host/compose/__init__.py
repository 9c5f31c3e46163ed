"""The wiring diagram: the only place where concrete classes meet. See host.py first."""
