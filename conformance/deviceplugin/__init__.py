"""Cases for device plugins, their registration, pod resources and topology (DP-*, REG-*, PR-*,
TM-*)."""
