"""What a plugin can be told to do wrong: for each knob the steps it stands in front of, and how.

This is the one place that knows; plugins are healthy, and load nothing of it when told nothing.
"""
