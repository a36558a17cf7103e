"""Container images that are made here, byte for byte the same each time, and a registry of them."""
