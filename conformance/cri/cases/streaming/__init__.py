"""Cases about commands in containers and ports of sandboxes."""
