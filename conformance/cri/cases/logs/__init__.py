"""Cases about the logs of containers."""
