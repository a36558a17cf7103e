"""Volumes on their way to a workload and back: controller publish, stage, node publish."""
