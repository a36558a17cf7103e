"""Cases about the mounts of containers."""
