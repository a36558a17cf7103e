"""A plugin under test: its requests, the host it works on, what it finds and leaves."""
