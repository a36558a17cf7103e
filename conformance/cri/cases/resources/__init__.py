"""Cases about the resources of containers."""
