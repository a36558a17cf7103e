"""All profiles drive our fake plugins, as processes, through the life of a pod."""

import json
from pathlib import Path
from typing import Any

import pytest

from refimpl.cni import config
from refimpl.cni.execute import Exec
from refimpl.cni.host.simulated import Simulated
from refimpl.cni.plugins.install import install
from refimpl.cni.runtime import PROFILES, Runtime
from refimpl.cni.runtime.kubernetes import Pod, Port
from refimpl.cni.runtime.pod import PodNetwork


def plugins(tmp_path: Path) -> list[dict[str, Any]]:
    """An interface with addresses, and port mappings behind it."""
    ipam = {"type": "hostlocal", "subnet": "10.1.0.0/24", "dataDir": str(tmp_path / "ipam")}
    return [
        {"type": "interface", "bridge": "cni0", "isGateway": True, "ipam": ipam},
        {"type": "chained", "capabilities": {"portMappings": True}},
    ]


@pytest.mark.parametrize("version", ["0.3.1", "1.1.0"])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_pod_comes_and_goes_without_a_trace(tmp_path: Path, profile: str, version: str) -> None:
    """What one half of this package sends, the other understands."""
    folder, host = tmp_path / "bin", Simulated(tmp_path / "host")
    folder.mkdir()
    for kind in ("interface", "hostlocal", "chained"):
        # Go's member names, which containerd sends, are those of a lenient plugin only.
        install(folder, kind, kind, kernel=str(host.kernel), lenient=kind == "chained")
    install(folder, "loopback", "recorder", answers={"ADD": {"result": {"cniVersion": "0.3.1"}}})
    listed = plugins(tmp_path)
    network = config.parse(
        json.dumps({"cniVersion": version, "name": "net", "plugins": listed}).encode()
    )
    seen: list[Exec] = []
    runtime = Runtime([folder], tmp_path / "cache", profile=profile, observers=[seen.append])
    pods = PodNetwork(runtime, [network])
    pod = Pod(id="c1", netns=host.make_netns(), ports=[Port(80, 8080)])
    # The bridge stays when its last port goes.
    pods.setup(pod)
    pods.teardown(pod)
    before = host.snapshot()
    attached = pods.setup(pod)
    assert [address.partition(".")[0] for address in attached.addresses] == ["10"]
    pods.check(pod)
    pods.status()
    pods.teardown(pod)
    assert before.difference(host.snapshot()) == []
    assert not list((tmp_path / "ipam" / "net").glob("10.*"))
    assert runtime.kept == []
    assert not [each.outcome.brief() for each in seen if each.code]
