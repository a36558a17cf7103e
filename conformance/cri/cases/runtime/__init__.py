"""Cases about the runtime itself: version, conditions, configuration, protocol."""
