"""Dynamic resource allocation: both sides of the calls between kubelet and a driver."""
