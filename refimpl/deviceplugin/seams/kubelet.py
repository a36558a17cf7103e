"""Where the fake kubelet can be bent: registration, lists, allocation, its files."""

from __future__ import annotations

from refimpl.deviceplugin import codec, names
from refimpl.deviceplugin.devicemanager import checkpoint_file, hosting
from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.deviceplugin.devicemanager.links import Links
from refimpl.deviceplugin.devicemanager.listener import SocketListener
from refimpl.deviceplugin.devicemanager.process import KubeletProcess
from refimpl.deviceplugin.devicemanager.registration_service import PluginHandler
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.deviceplugin.state import DeviceState, admission, checkpoint, containers, scopes
from refimpl.deviceplugin.state.admission import Admissions
from refimpl.deviceplugin.state.allocate import Allocator
from refimpl.deviceplugin.state.capacity import NodeStatus
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.endpoints import Endpoints
from refimpl.deviceplugin.state.tables import Tables
from refimpl.wire.seam import Seam

READ_OPTIONS = Seam.of(codec.options)
LOAD_CHECKPOINT = Seam.of(checkpoint.load, checkpoint_file)
READ_CHECKPOINT = Seam.of(checkpoint_file.read)
MERGE_ANSWERS = Seam.of(containers.merge, hosting)
UNLINK_SOCKETS = Seam.of(Layout.unlink_sockets)
CALL_PLUGIN = Seam.of(Links._call)
CONNECT = Seam.of(Links._connect)
DIAL = Seam.of(Links._dial)
STREAM_ENDED = Seam.of(Links._ended)
FOLLOW_STREAM = Seam.of(Links._follow)
GIVE_UP = Seam.of(Links._give_up)
ASK_OPTIONS = Seam.of(Links._options)
TAKE_LIST = Seam.of(Links._take)
ALLOCATE = Seam.of(Links.allocate)
PRE_START = Seam.of(Links.pre_start)
PREFERRED = Seam.of(Links.preferred)
REGISTER = Seam.of(Links.register)
OPEN_SOCKET = Seam.of(SocketListener.open)
BEGIN = Seam.of(KubeletProcess.begin)
DEAFEN = Seam.of(KubeletProcess.deafen)
SAVE_CHECKPOINT = Seam.of(KubeletProcess.save)
TAKE_FOUND = Seam.of(PluginHandler.register)
LOSE_FOUND = Seam.of(PluginHandler.deregister)
START = Seam.of(FakeKubelet._begin)
KILL = Seam.of(FakeKubelet.kill)
ALLOCATE_POD = Seam.of(Admissions._allocate)
ALLOCATE_LATE = Seam.of(Admissions._allocate_late)
START_CONTAINER = Seam.of(Admissions.start)
REFUSAL = Seam.of(admission._refusal)
POD_REQUEST = Seam.of(scopes.pod_request, admission)
ASK_ALLOCATE = Seam.of(Allocator._ask)
BELIEVED = Seam.of(Allocator._believed)
CONSULT = Seam.of(Allocator._consult)
REUSABLE = Seam.of(Allocator._pool)
ASK_PREFERRED = Seam.of(Allocator._preferred)
RECORD = Seam.of(Allocator._record)
SETTLE = Seam.of(Allocator._settle)
SETTLED = Seam.of(Allocator._settled)
ALLOCATE_CONTAINER = Seam.of(Allocator.allocate)
ZERO_CAPACITY = Seam.of(NodeStatus.zero)
LOSE_DEVICES = Seam.of(Devices.lose)
TAKE_DEVICES = Seam.of(Devices.take)
STOP_ENDPOINT = Seam.of(Endpoints._stop)
CONNECT_ENDPOINT = Seam.of(Endpoints.connect)
EXPIRED = Seam.of(Endpoints.expired)
CHECK_RESOURCE = Seam.of(names.check_resource)
CHECK_VERSIONS = Seam.of(names.check_versions)
SOCKET_PATH = Seam.of(names.socket_path)
COLLECT = Seam.of(Tables.collect)
FREE = Seam.of(Tables.free)
LISTED = Seam.of(Tables.listed)
OURS = Seam.of(Tables.ours)
MARK_TAKEN = Seam.of(Tables.take)
RESTORE = Seam.of(DeviceState.restore)
