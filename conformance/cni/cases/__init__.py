"""The cases of CNI, by what they judge."""
