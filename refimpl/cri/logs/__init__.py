"""The log files of containers, in the format that kubelet and crictl read."""
