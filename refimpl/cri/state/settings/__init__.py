"""In what runtimes differ, as data: one module and one record a topic."""

from __future__ import annotations

from typing import Any, Self

import attrs
import msgspec

from refimpl.cri.state.settings.checkpoints import CheckpointChoices
from refimpl.cri.state.settings.containers import ContainerChoices
from refimpl.cri.state.settings.divergence import PROFILES, Divergence
from refimpl.cri.state.settings.events import EventChoices
from refimpl.cri.state.settings.images import ImageChoices
from refimpl.cri.state.settings.logs import LogChoices
from refimpl.cri.state.settings.mounts import MountChoices
from refimpl.cri.state.settings.runtime import RuntimeChoices
from refimpl.cri.state.settings.sandboxes import SandboxChoices
from refimpl.cri.state.settings.stats import StatsChoices
from refimpl.cri.state.settings.streaming import StreamingChoices

__all__ = ["PROFILES", "RuntimeSettings", "divergences"]


@attrs.frozen(kw_only=True)
class RuntimeSettings:
    """All choices of a runtime; as they are by default it is the `strict` one."""

    runtime: RuntimeChoices = attrs.field(factory=RuntimeChoices)
    sandboxes: SandboxChoices = attrs.field(factory=SandboxChoices)
    containers: ContainerChoices = attrs.field(factory=ContainerChoices)
    mounts: MountChoices = attrs.field(factory=MountChoices)
    images: ImageChoices = attrs.field(factory=ImageChoices)
    streaming: StreamingChoices = attrs.field(factory=StreamingChoices)
    stats: StatsChoices = attrs.field(factory=StatsChoices)
    logs: LogChoices = attrs.field(factory=LogChoices)
    events: EventChoices = attrs.field(factory=EventChoices)
    checkpoints: CheckpointChoices = attrs.field(factory=CheckpointChoices)

    @classmethod
    def of(cls, profile: str) -> Self:
        """Those of a profile; raises ValueError naming those there are."""
        if profile not in PROFILES:
            raise ValueError(f"there is no profile {profile!r}: there is {', '.join(PROFILES)}")
        topics: dict[str, Any] = {}
        for topic, kind in _topics().items():
            rows = {field.name: Divergence.of(field) for field in attrs.fields(kind)}
            topics[topic] = kind(**{name: row.values[profile] for name, row in rows.items() if row})
        return cls(**topics)

    def with_(self, **changes: object) -> Self:
        """The same runtime with other values, by `topic.name`; texts are read as `--set` gives
        them. Raises ValueError."""
        changed = self
        for path, value in changes.items():
            topic, _, name = path.partition(".")
            choices = getattr(changed, topic, None)
            if choices is None or name not in attrs.fields_dict(type(choices)):
                raise ValueError(f"there is no setting {path!r}: there is {', '.join(_fields())}")
            read = _read(path, value, attrs.fields_dict(attrs.resolve_types(type(choices)))[name])
            changed = attrs.evolve(changed, **{topic: attrs.evolve(choices, **{name: read})})
        return changed


def divergences() -> dict[str, Divergence]:
    """The table, by `topic.name`."""
    rows = {path: Divergence.of(field) for path, field in _fields().items()}
    return {path: row for path, row in rows.items() if row}


def _topics() -> dict[str, Any]:
    whole = RuntimeSettings()
    return {topic.name: type(getattr(whole, topic.name)) for topic in attrs.fields(type(whole))}


def _fields() -> dict[str, Any]:
    return {
        f"{topic}.{field.name}": field
        for topic, kind in _topics().items()
        for field in attrs.fields(kind)
    }


def _read(path: str, value: object, field: Any) -> object:
    several = isinstance(value, str) and isinstance(field.default, tuple)
    given = [each for each in str(value).split(",") if each] if several else value
    try:
        return msgspec.convert(given, field.type, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{path}={value}: {error}") from None
