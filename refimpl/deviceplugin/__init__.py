"""Device plugins and pod resources: both sides of the calls between kubelet and a plugin."""
