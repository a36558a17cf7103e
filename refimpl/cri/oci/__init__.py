"""The process model of an OCI runtime: namespaces, mounts and limits of a kernel, as root."""
