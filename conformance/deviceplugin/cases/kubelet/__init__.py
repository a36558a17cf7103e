"""Kubelets and clients like them, as device plugins see them (DP-KUB)."""
