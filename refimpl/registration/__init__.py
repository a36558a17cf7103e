"""Plugin registration: the socket directory that kubelet watches, and both sides of it."""
