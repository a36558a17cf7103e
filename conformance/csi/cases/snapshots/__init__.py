"""Snapshots: listed, page by page."""
