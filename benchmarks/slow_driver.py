"""How long the suite takes on a driver that makes no volume in less than 0.4 s, as many do."""

from __future__ import annotations

import subprocess
import sys
import time

from refimpl.csi.fake import FakeDriver
from refimpl.wire.faults import Faults

CREATE_S = 0.4
WORKERS = 2
LIMIT_S = 90.0


def main() -> int:
    """Prints the time and the number of creates; 1 where it takes too long."""
    rule = f"- {{when: {{method: CreateVolume}}, do: {{delay: {CREATE_S}}}}}"
    with FakeDriver(faults=Faults.from_yaml(rule), nodes=2) as fake:
        words = ["test", "csi", str(fake.endpoint), "-q", "-n", str(WORKERS)]
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-m", "refimpl", *words], check=False)
        took_s = time.monotonic() - began
        creates = sum(entry.rpc == "CreateVolume" for entry in fake.journal.entries)
    print(f"{CREATE_S} s a create, {WORKERS} workers: {took_s:.0f} s, {creates} creates")
    if done.returncode:
        return 1
    if took_s >= LIMIT_S:
        print(f"  claimed: less than {LIMIT_S:.0f} s")
    return int(took_s >= LIMIT_S)
