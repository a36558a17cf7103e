"""Deliberately broken fakes: the proof that every case is able to fail.

A mutant lives in fixtures/mutants/<interface>/. It breaks one thing of a fake, and reads like the
bug report that it was made from:

```python
class ForgetsReadOnly(DriverMutant):
    "The flag is lost on the way to the mount (seen in the field: …)."
    kills = {"CSI-NPUB-006"}
    NodePublishVolume = clears("readonly")
```

`kills` are the cases that have to notice, `tells` the words of their findings where a case has to
tell more than one breach. The rest is choices of the fake, and bends: methods that
stand before the RPC or verb that they are named after, or before a seam of the fake that decorates
them. Most are made by a combinator; what none says is written out as (self, proceed, *arguments).

`python -m conformance.engine.matrix` runs the suite against each, prints the kill matrix and
fails when the fake fails a case, a mutant survives what it names, or a case has no killer.
"""

from conformance.engine.mutants.combinators import (
    ANY,
    Bend,
    after,
    answers,
    argument,
    before,
    chain,
    clears,
    counted,
    does_nothing,
    has,
    lacks,
    mistakes,
    omits,
    refuses,
    returns,
    sets,
    swallows,
    turns,
)
from conformance.engine.mutants.fields import GONE
from conformance.engine.mutants.loading import classes, command, fake, load
from conformance.engine.mutants.mutant import Interposed, Mutant, bent, standing
from conformance.engine.mutants.notes import Notes, Own

__all__ = [
    "ANY",
    "GONE",
    "Bend",
    "Interposed",
    "Mutant",
    "Notes",
    "Own",
    "after",
    "answers",
    "argument",
    "before",
    "bent",
    "chain",
    "classes",
    "clears",
    "command",
    "counted",
    "does_nothing",
    "fake",
    "has",
    "lacks",
    "load",
    "mistakes",
    "omits",
    "refuses",
    "returns",
    "sets",
    "standing",
    "swallows",
    "turns",
]
