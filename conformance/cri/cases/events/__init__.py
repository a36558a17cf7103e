"""Cases about events."""
