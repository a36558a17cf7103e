"""The cases of CSI drivers, by topic."""
