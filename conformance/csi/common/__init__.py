"""What several cases look at and do: mounts, content, lists, refusals, faults, a process."""
