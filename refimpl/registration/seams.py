"""Where either side of plugin registration can be bent."""

from __future__ import annotations

from refimpl.registration import attempt, watch
from refimpl.registration.attempt import Attempts
from refimpl.registration.plugin import RegistrationService
from refimpl.registration.watch import SocketDirectory
from refimpl.registration.watcher import PluginWatcher
from refimpl.wire.seam import Seam

DEREGISTER = Seam.of(Attempts.deregister)
REGISTER = Seam.of(Attempts.register)
ASK_INFO = Seam.of(attempt._info)
NOTIFY = Seam.of(attempt._refused)
GET_INFO = Seam.of(RegistrationService.GetInfo)
ARRIVED = Seam.of(SocketDirectory._arrived)
ENTERED = Seam.of(SocketDirectory._entered)
SCAN = Seam.of(SocketDirectory._scan)
EVENT = Seam.of(SocketDirectory._events_of)
COUNTS = Seam.of(watch._counts)
IDENTITY = Seam.of(watch._identity)
WATCH = Seam.of(PluginWatcher.__init__)
POSTPONE = Seam.of(PluginWatcher._postpone)
