"""The shape of a mutant on the plugin side: our device plugin with one breach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.engine.mutants import Mutant
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb

if TYPE_CHECKING:
    from conformance.deviceplugin.plugins.ours import OurProcess
    from refimpl.deviceplugin.fake import FakePlugin

__all__ = ["PluginMutant"]

_SERVICE = "refimpl.deviceplugin.plugin.serving:DevicePluginService"
_CALL = "refimpl.wire.client_call:UnaryCall.__call__"
_RPCS = (
    "GetDevicePluginOptions",
    "ListAndWatch",
    "GetPreferredAllocation",
    "Allocate",
    "PreStartContainer",
)


class PluginMutant(Mutant):
    """A method named after an RPC of DevicePlugin, `(self, proceed, request, call)`, stands before
    our plugin's (ListAndWatch is a generator); `Register(self, proceed, request)` before its call
    of Register, which raises Refused. `seams` name what else of it a method stands before.

    `choices` are arguments of `FakePlugin` that differ from those of the fake under test (`persona`
    and `devices` above all). `fake` is the plugin that was started last, `process` the process that
    it is in; `process.exit(status)` has it die.
    """

    choices: ClassVar[Mapping[str, Any]] = {}
    shaped_by = ("choices",)
    fake: FakePlugin
    process: OurProcess

    def __init_subclass__(cls, **more: Any) -> None:
        """Turns the methods that are named after RPCs into seams."""
        super().__init_subclass__(**more)
        for rpc in set(_RPCS) & set(vars(cls)):
            setattr(cls, f"before_{rpc}", _before(rpc))
            cls.seams = {**cls.seams, f"before_{rpc}": f"{_SERVICE}.{rpc}"}
        if "Register" in vars(cls):
            cls.seams = {**cls.seams, "before_call": _CALL}

    def Register(self, proceed: Callable[[pb.RegisterRequest], Any], request: Any) -> Any:  # noqa: N802
        """Calls kubelet."""
        return proceed(request)

    def before_call(
        self, proceed: Any, _method: object, request: Any, *rest: Any, **more: Any
    ) -> Any:
        """Stands before every call that this process makes."""
        if not isinstance(request, pb.RegisterRequest):
            return proceed(request, *rest, **more)
        return self.Register(lambda asked: proceed(asked, *rest, **more), request)


def _before(rpc: str) -> Callable[..., Any]:
    def bent(mutant: PluginMutant, proceed: Any, _service: object, request: Any, call: Any) -> Any:
        return getattr(mutant, rpc)(proceed, request, call)

    return bent
