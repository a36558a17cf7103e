"""The line of the last exec is there where it works after the run."""

from __future__ import annotations

import attrs
import pytest

from conformance.cni.target import CniTarget
from refimpl.cni.execute import Log, Outcome, Request
from tests.targets import resolved

REQUESTS = [
    (Request.of("VERSION", {"cniVersion": "1.0.0"}), True),
    (Request.of("STATUS", {"name": "n"}, path="/opt/cni/bin"), True),
    (Request.of("DEL", {"name": "n"}, container_id="c", netns="/run/netns/c", ifname="e"), False),
    (Request.of("GC", {"ipam": {"dataDir": "/tmp/refimpl-1/refimpl-cni-x/ipam"}}), False),
    (Request("delete", {}, b"the runtime deletes a pod"), False),
]


@pytest.mark.parametrize(("request_", "works"), REQUESTS, ids=lambda value: str(value)[:20])
def test_a_line_names_nothing_that_went_with_its_case(request_: Request, works: bool) -> None:
    """A namespace or a folder of the case; acts of a runtime are no execs of ours."""
    log = Log()
    call = log.note("/opt/cni/bin/x", request_, Outcome(0))
    real = attrs.evolve(resolved("cni"), scheme="exec", address="/opt/cni/bin/x")
    line = CniTarget(real, "x", log=log).reproduce([call])
    assert bool(line) == works
    assert line in ("", call.shell())
    assert not CniTarget(resolved("cni"), "x", log=log).reproduce([call])
