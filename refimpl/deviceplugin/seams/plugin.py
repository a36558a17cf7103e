"""Where the fake plugin can be bent: its answers, its registration, its process."""

from __future__ import annotations

from refimpl.deviceplugin import fake
from refimpl.deviceplugin.plugin import cdi, push
from refimpl.deviceplugin.plugin.inventory import Inventory
from refimpl.deviceplugin.plugin.push import Push
from refimpl.deviceplugin.plugin.registrar import Launch, Registrar
from refimpl.deviceplugin.plugin.serving import DevicePluginService
from refimpl.wire.seam import Seam

WRITE_CDI = Seam.of(cdi.write_cdi, fake)
REMOVE_DEVICE = Seam.of(Inventory.remove)
REGISTER = Seam.of(Push.register)
STREAMING = Seam.of(Launch.streaming)
BEGIN_AGAIN = Seam.of(Registrar._begin_again)
FAILED = Seam.of(Registrar._failed)
FRESH_ENDPOINT = Seam.of(Registrar._fresh_endpoint)
LAUNCH = Seam.of(Registrar._launch)
NOTIFIED = Seam.of(Registrar.notified)
START = Seam.of(Registrar.start)
ANSWER = Seam.of(DevicePluginService._answer)
JUDGE = Seam.of(DevicePluginService._judge)

RPCS = {
    "Register": Seam.of(push.call_register),
    "Allocate": Seam.of(DevicePluginService.Allocate),
    "GetDevicePluginOptions": Seam.of(DevicePluginService.GetDevicePluginOptions),
    "GetPreferredAllocation": Seam.of(DevicePluginService.GetPreferredAllocation),
    "ListAndWatch": Seam.of(DevicePluginService.ListAndWatch),
    "PreStartContainer": Seam.of(DevicePluginService.PreStartContainer),
}
"""What either side calls, by its name."""
