"""Names of Kubernetes as regular expressions. Source: Kubernetes documentation, "Object Names and
IDs", "Labels and Selectors"; lengths are checked beside them."""

__all__ = ["LABEL", "SUBDOMAIN", "WORD"]

LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
"""A DNS label."""
SUBDOMAIN = rf"{LABEL}(?:\.{LABEL})*"
"""DNS labels with dots between."""
WORD = r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
"""The name of a label without its prefix, or its value."""
