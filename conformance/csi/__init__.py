"""The suite for CSI drivers: the Container Storage Interface 1.12 and 1.13."""
