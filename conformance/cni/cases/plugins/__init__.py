"""Plugins: every verb, its input, its output, what it leaves behind."""
