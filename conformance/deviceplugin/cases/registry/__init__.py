"""plugins_registry: which plugins a client finds there, and what becomes of them (REG)."""
