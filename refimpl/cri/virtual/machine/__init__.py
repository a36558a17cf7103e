"""What a virtual container finds of its machine: mounts and files as plain data that follow from
its configuration. `generated` has a table of what the kernel would write, a module a topic."""
