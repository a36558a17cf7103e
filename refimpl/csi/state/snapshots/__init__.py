"""The controller's rules about snapshots, groups of them, and what blocks they hold."""
