"""Placement of devices on NUMA nodes, one case a reference vector (TM)."""
