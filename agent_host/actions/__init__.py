"""The host's side of acting on the user's machine: the action server's client, and sandboxes."""
