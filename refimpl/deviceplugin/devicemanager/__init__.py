"""Parts of the fake kubelet: registration, connections, pods, pod resources, checkpoint."""
