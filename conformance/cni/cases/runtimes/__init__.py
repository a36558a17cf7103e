"""Runtimes: when they call plugins, with what, and what they make of the answers."""
