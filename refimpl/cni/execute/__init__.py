"""Running a plugin as a runtime does: six variables, one JSON document, three streams.

It doubles as a library for other people's tests:

```python
outcome = Processes().run("/opt/cni/bin/bridge", Request.of(Verb.ADD, config, container_id="c1",
                          netns="/run/netns/c1", ifname="eth0", path="/opt/cni/bin"))
```
"""

from refimpl.cni.execute.conditions import PLAIN, Conditions
from refimpl.cni.execute.processes import Executor, Processes
from refimpl.cni.execute.record import Ending, Exec, Log, Outcome, Request

__all__ = [
    "PLAIN",
    "Conditions",
    "Ending",
    "Exec",
    "Executor",
    "Log",
    "Outcome",
    "Processes",
    "Request",
]
