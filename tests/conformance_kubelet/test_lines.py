"""A client behind an adapter."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from conformance.engine.options import BadOption
from conformance.kubelet.lines import LinesClient

ADAPTER = """
import json, sys
for line in sys.stdin:
    said = {"name": "it", "version": " ".join(sys.argv[1:]), "able": ["pods"]}
    print(json.dumps(said), flush=True)
"""


def test_an_adapter_is_told_where_things_lie() -> None:
    """By the placeholders of its command; its own folder is there, and goes with it."""
    words = ("{kubelet}", "{device-plugins}", "{registry}", "{dir}", "{node}", "{config}")
    with closing(LinesClient([sys.executable, "-c", ADAPTER, *words])) as client:
        kubelet, plugins, registry, own, *rest = client.version.split()
        assert Path(kubelet) == client.folder
        assert (plugins, registry) == (f"{kubelet}/device-plugins", f"{kubelet}/plugins_registry")
        assert Path(own).is_dir()
        assert rest == ["refimpl-node", "{config}"]
    assert not Path(own).exists()
    assert not client.folder.exists()


def test_an_ability_that_nobody_knows_is_told() -> None:
    """With those that there are."""
    strange = ADAPTER.replace('["pods"]', '["pods", "flying"]')
    with pytest.raises(BadOption, match=r"it: able flying: there are \[.*'pods'"):
        LinesClient([sys.executable, "-c", strange])
