"""Instructions, skills and prompt files: found on disk, read with their problems, never trusted."""
