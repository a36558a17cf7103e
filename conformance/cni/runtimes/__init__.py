"""Runtimes under test: ours, cnitool, and whatever answers CRI on a socket.

The cases talk to a `bench.Runtime`: it puts networks of recorders in place, runs pods through the
adapter of the target (`subject.RuntimeUnderTest`), and reads what the recorders were asked.
"""
