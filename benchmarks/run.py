"""`python benchmarks/run.py [fake|cases|slow|cni|cri|kubelet|deviceplugin|cel|dra]`

Every claim about speed, measured; exit code 1 if one does not hold. Needs a quiet machine: figures
are medians of runs in turns.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import (
    cel,
    cni,
    cri,
    deviceplugin,
    dra,
    fake_server,
    kubelet_pods,
    per_case,
    slow_driver,
)

PARTS = {
    "fake": fake_server.main,
    "cases": per_case.main,
    "slow": slow_driver.main,
    "cni": cni.main,
    "cri": cri.main,
    "kubelet": kubelet_pods.main,
    "deviceplugin": deviceplugin.main,
    "cel": cel.main,
    "dra": dra.main,
}


def main() -> int:
    """Runs the parts named on the command line, or all."""
    names = sys.argv[1:] or list(PARTS)
    if strange := [name for name in names if name not in PARTS]:
        print(f"{strange[0]}: there is {', '.join(PARTS)}")
        return 2
    failed = 0
    for name in names:
        print(f"== {name}", flush=True)
        failed += PARTS[name]()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
