"""A conformance suite for the node interfaces of Kubernetes: one pytest case a requirement."""
