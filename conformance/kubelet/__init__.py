"""A kubelet under test: ours, a real one, or a client like it."""
