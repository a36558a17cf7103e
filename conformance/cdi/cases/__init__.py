"""The cases of CDI, by topic."""
