"""Container Device Interface: names, documents, directories, and what devices change.

Modules by task: `names`, `versions`, `validate` (judge a document), `files` (load, write),
`directories` and `registry` (which definition counts), `cache` and `watch` (kept up to date),
`annotations` (requests of old), `inject` (into an OCI config).
"""

from refimpl.cdi.annotations import AnnotationError
from refimpl.cdi.cache import Cache
from refimpl.cdi.files import SpecError, dump, load, parse, write
from refimpl.cdi.findings import Finding
from refimpl.cdi.host import HostNode, host_node
from refimpl.cdi.inject import CHOICES, InjectError, InjectionChoices, apply, inject
from refimpl.cdi.model import ContainerEdits, Device, Spec
from refimpl.cdi.names import BadName, QualifiedName
from refimpl.cdi.registry import Registry, Unresolved
from refimpl.cdi.validate import judge
from refimpl.cdi.versions import minimum_version

__all__ = [
    "CHOICES",
    "AnnotationError",
    "BadName",
    "Cache",
    "ContainerEdits",
    "Device",
    "Finding",
    "HostNode",
    "InjectError",
    "InjectionChoices",
    "QualifiedName",
    "Registry",
    "Spec",
    "SpecError",
    "Unresolved",
    "apply",
    "dump",
    "host_node",
    "inject",
    "judge",
    "load",
    "minimum_version",
    "parse",
    "write",
]
