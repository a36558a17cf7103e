"""Where a container runtime of ours can be bent."""

from __future__ import annotations

from refimpl.cri.logs import files
from refimpl.cri.logs.files import LogFiles
from refimpl.cri.logs.format import Records
from refimpl.wire.seam import Seam

RECORD_LINE = Seam.of(Records._line)
RECORDS = Seam.of(Records.add)
RECORDS_END = Seam.of(Records.end)
REOPEN_LOG = Seam.of(LogFiles.reopen)
LOG_FILE = Seam.of(files._descriptor)
