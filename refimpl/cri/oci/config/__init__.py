"""What an OCI runtime is told (config.json, runtime-spec 1.2), made as plain data of what CRI asks
for: no file is read here and nothing is mounted.
"""

from refimpl.cri.oci.config.container import Around, container_config
from refimpl.cri.oci.config.sandbox import sandbox_config

__all__ = ["Around", "container_config", "sandbox_config"]
