"""What a kubelet makes of pods: workers that run them, what managers and drivers give them."""
