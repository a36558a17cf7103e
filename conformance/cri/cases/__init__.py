"""Cases, a folder a topic."""
