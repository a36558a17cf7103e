"""Schemas of device plugins and pod resources and the modules generated from them."""
