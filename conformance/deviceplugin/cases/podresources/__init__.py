"""Pod resources and the pods API: what a kubelet tells of pods and devices (PR)."""
