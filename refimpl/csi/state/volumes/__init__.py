"""The controller's rules about volumes: making, attaching, changing, asking, their health."""
