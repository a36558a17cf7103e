"""Cases about lists as streams."""
