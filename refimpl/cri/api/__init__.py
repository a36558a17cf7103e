"""Schema of the Container Runtime Interface and the modules generated from it."""
