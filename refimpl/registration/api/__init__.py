"""Schema of plugin registration and the modules generated from it."""
