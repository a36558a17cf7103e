"""Cases about containers: create, start, stop, remove, status, list."""
