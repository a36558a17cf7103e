"""What CDI cases need of a target; CdiTarget has the reasons why one lacks it."""

from __future__ import annotations

from conformance.cdi import implementation
from conformance.engine.needs import Feature

LOAD, INJECT = Feature(implementation.LOAD), Feature(implementation.INJECT)
CONFIG, REQUEST = Feature(implementation.CONFIG), Feature(implementation.REQUEST)
DIRECTORIES, WATCH = Feature(implementation.DIRECTORIES), Feature(implementation.WATCH)
MINIMUM, WRITE = Feature(implementation.MINIMUM), Feature(implementation.WRITE)
ANNOTATIONS, RUNTIME = Feature(implementation.ANNOTATIONS), Feature(implementation.RUNTIME)
NODES = Feature("nodes", "device nodes of our own")
"""Real ones, or ones that our own fake believes in."""
TWO_DIRECTORIES = Feature("two directories")
"""Of which one wins over the other."""
STRICT = Feature("strict")
"""A row in which only the specification's text binds."""
