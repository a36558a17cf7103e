"""What several cases look at: mounts, content, lists, refusals, health."""
