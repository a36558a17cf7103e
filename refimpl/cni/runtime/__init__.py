"""What a runtime does with plugins, and what the known runtimes do differently.

```python
runtime = Runtime(["/opt/cni/bin"], "/var/lib/cni", profile="libcni")
result = runtime.add(config.load(Path("10-net.conflist")), Attachment("c1", "/run/netns/c1"))
```
"""

from refimpl.cni.runtime.attachment import Attachment
from refimpl.cni.runtime.cache import CacheError, Kept
from refimpl.cni.runtime.calls import Observer
from refimpl.cni.runtime.chains import CHAINS
from refimpl.cni.runtime.profiles import PROFILES, Profile, profile
from refimpl.cni.runtime.runtime import Runtime
from refimpl.cni.runtime.trouble import (
    BadAnswer,
    DaemonDies,
    NotAttached,
    PluginFailed,
    PluginMissing,
    PluginUnusable,
    Refusal,
    Trouble,
)

__all__ = [
    "CHAINS",
    "PROFILES",
    "Attachment",
    "BadAnswer",
    "CacheError",
    "DaemonDies",
    "Kept",
    "NotAttached",
    "Observer",
    "PluginFailed",
    "PluginMissing",
    "PluginUnusable",
    "Profile",
    "Refusal",
    "Runtime",
    "Trouble",
    "profile",
]
