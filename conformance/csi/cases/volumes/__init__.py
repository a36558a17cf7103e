"""Volumes: made, listed, measured, changed, validated, deleted."""
