"""A registry on loopback (OCI distribution-spec 1.1), with credentials and faults as one likes."""

from refimpl.images.registry.access import Anybody, Basic, Bearer
from refimpl.images.registry.faults import Fault
from refimpl.images.registry.server import Registry

__all__ = ["Anybody", "Basic", "Bearer", "Fault", "Registry"]
