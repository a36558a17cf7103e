"""Schemas of the Container Storage Interface and the modules generated from them."""
