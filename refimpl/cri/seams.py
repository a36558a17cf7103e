"""Where a container runtime of ours can be bent."""

from __future__ import annotations

from refimpl.cri.logs import files
from refimpl.cri.logs.files import LogFiles
from refimpl.cri.logs.format import Records
from refimpl.cri.streams import StreamHost
from refimpl.cri.virtual import processes
from refimpl.cri.virtual.machine import node, table
from refimpl.cri.virtual.machine.files import Files
from refimpl.cri.virtual.sessions import Hub, console_of
from refimpl.cri.virtual.shell.interpreter import Shell
from refimpl.wire.seam import Seam

RECORD_LINE = Seam.of(Records._line)
RECORDS = Seam.of(Records.add)
RECORDS_END = Seam.of(Records.end)
REOPEN_LOG = Seam.of(LogFiles.reopen)
LOG_FILE = Seam.of(files._descriptor)

ATTACH = Seam.of(processes.VirtualProcesses.attach)
DIAL = Seam.of(processes.VirtualProcesses.dial)
DIAL_SANDBOX = Seam.of(StreamHost.dial)
JOIN = Seam.of(Hub.attach)
TAKE_ATTACHED = Seam.of(Hub._take)
WRITE_ALL = Seam.of(Hub.write)
CONNECT_TERMINAL = Seam.of(console_of, processes)
UPDATE = Seam.of(processes.VirtualProcesses.update)
MOUNTS = Seam.of(table.asked, node)
WHY_NOT = Seam.of(Files.why_not)
WAIT = Seam.of(Shell.wait)
