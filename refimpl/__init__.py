"""Both sides of the node interfaces that Kubernetes speaks with vendors, in pure Python."""

__version__ = "0.1.0"
