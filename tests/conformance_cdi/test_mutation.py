"""What CDI mutants are made of."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.cdi.documents import document
from conformance.cdi.inprocess import InProcess
from conformance.cdi.mutation import (
    CdiMutant,
    Message,
    Proceed,
    edits,
    files,
    injects,
    misreads,
    rejects,
)
from conformance.engine.mutants import GONE

NODE = {"path": "/dev/refimpl", "type": "c", "major": 240}


class Renames(CdiMutant):
    """Takes every device for another one."""

    open = misreads("devices.name", lambda name: f"{name}-x", suffix="x.json")


class Forgets(CdiMutant):
    """Takes no variable in, wherever it stands."""

    open = misreads("edits.env", GONE)


class Refuses(CdiMutant):
    """Takes no document of ours."""

    open = rejects(lambda document: document["kind"].startswith("vendor."))


class Allows(CdiMutant):
    """Makes every container another one."""

    inject = injects("process.env", ["A=b"])


class Silent(CdiMutant):
    """Has no devices."""

    def load(self, proceed: Proceed, request: Message) -> Message:
        """Of what is right only the errors."""
        return {**proceed(request), "devices": []}


def whole(folder: Path) -> list[str]:
    """The devices of a folder."""
    return list(loaded(CdiMutant(), folder)["devices"])


def loaded(mutant: CdiMutant, folder: Path) -> Message:
    """What it tells of a folder."""
    ours = InProcess(mutant=mutant)
    ours.answer("open", {"cache": 1, "directories": [str(folder)], "watched": False})
    reply = ours.answer("load", {"cache": 1})
    ours.close()
    return reply


def test_a_misreading_is_made_before_anything_is_judged(tmp_path: Path) -> None:
    """What is no document stays as it is."""
    (tmp_path / "x.json").write_text(json.dumps(document()))
    (tmp_path / "y.json").write_text("{")
    (name,) = whole(tmp_path)
    reply = loaded(Renames(), tmp_path)
    assert reply["devices"] == [f"{name}-x"]
    assert list(reply["errors"]) == [str(tmp_path / "y.json")]


def test_whole_documents_can_be_rejected(tmp_path: Path) -> None:
    """They are taken for documents in which everything is missing."""
    (tmp_path / "x.json").write_text(json.dumps(document()))
    reply = loaded(Refuses(), tmp_path)
    assert reply["devices"] == []
    assert list(reply["errors"]) == [str(tmp_path / "x.json")]


def test_edits_are_misread_wherever_they_are(tmp_path: Path) -> None:
    """Those of the file and those of its devices."""
    both = document(edits={"env": ["A=b"]}, spec={"env": ["C=d"]})
    (tmp_path / "x.json").write_text(json.dumps(both))
    loaded(Forgets(), tmp_path)
    assert [dict(each) for each in edits(json.loads((tmp_path / "x.json").read_text()))] == [{}, {}]


def test_the_config_that_comes_of_an_injection_is_changed(tmp_path: Path) -> None:
    """And that of one that failed is not."""
    (tmp_path / "x.json").write_text(json.dumps(document()))
    for name, env in ((*whole(tmp_path), ["A=b"]), ("vendor.example/device=none", [])):
        ours = InProcess(mutant=Allows())
        ours.answer("open", {"cache": 1, "directories": [str(tmp_path)], "watched": False})
        config = {"process": {"env": []}}
        reply = ours.answer("inject", {"cache": 1, "config": config, "devices": [name]})
        assert reply["config"]["process"]["env"] == env
        ours.close()


def test_a_method_stands_between_the_suite_and_the_library(tmp_path: Path) -> None:
    """Named after the act."""
    (tmp_path / "x.json").write_text(json.dumps(document()))
    assert loaded(Silent(), tmp_path) == {"devices": [], "errors": {}}


def test_edits_are_found_wherever_they_are(tmp_path: Path) -> None:
    """Of the file and of its devices, whatever else is wrong."""
    both = document(edits={"deviceNodes": [NODE]}, spec={"deviceNodes": [NODE, NODE]})
    assert len(list(edits(both))) == 2
    assert list(edits({"devices": 5, "containerEdits": []})) == []
    (tmp_path / "b.json").write_text("")
    (tmp_path / "a.yml").write_text("")
    opened = {"directories": [str(tmp_path), str(tmp_path / "none")]}
    assert [path.name for path in files(opened)] == ["a.yml", "b.json"]
