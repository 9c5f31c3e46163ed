"""What may be done, decided without I/O: rules, the engine, the shell reader, questions.

Only `grants` and `trust` touch the disk, in the user's state directory; nothing here asks or acts.
"""
