"""The cases of the device suites, by whom they judge and what they are about."""
