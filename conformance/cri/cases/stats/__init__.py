"""Cases about statistics."""
