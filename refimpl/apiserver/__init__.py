"""An API server just big enough for kubelets and drivers: JSON over plain HTTP on loopback."""
