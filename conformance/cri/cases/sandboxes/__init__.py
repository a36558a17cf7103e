"""Cases about sandboxes: run, status, list, stop, remove."""
