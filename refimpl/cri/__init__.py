"""Container Runtime Interface: both sides of the calls between kubelet and a runtime."""
