"""Schemas of the DRA driver and health services and the modules generated from them."""
