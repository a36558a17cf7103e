"""IPAM plugins, and plugins that run another one for their addresses."""
