"""What CDI mutants are made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.cdi.documents import document
from conformance.cdi.inprocess import InProcess
from conformance.cdi.mutation import CdiMutant, Message, Misreading, Proceed, edits, files, items

NODE = {"path": "/dev/refimpl", "type": "c", "major": 240}


class Renames(Misreading):
    """Takes every device for another one."""

    def read(self, document: Any, name: str) -> Any:
        """See Misreading."""
        document["devices"][0]["name"] = name.partition(".")[0]
        return document


class Silent(CdiMutant):
    """Has no devices."""

    def load(self, proceed: Proceed, request: Message) -> Message:
        """Of what is right only the errors."""
        return {**proceed(request), "devices": []}


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
    reply = loaded(Renames(), tmp_path)
    assert reply["devices"] == ["vendor.example/device=x"]
    assert list(reply["errors"]) == [str(tmp_path / "y.json")]


def test_a_method_stands_between_the_suite_and_the_library(tmp_path: Path) -> None:
    """Named after the act."""
    (tmp_path / "x.json").write_text(json.dumps(document()))
    assert loaded(Silent(), tmp_path) == {"devices": [], "errors": {}}


def test_edits_are_found_wherever_they_are(tmp_path: Path) -> None:
    """Of the file and of its devices, whatever else is wrong."""
    whole = document(edits={"deviceNodes": [NODE]}, spec={"deviceNodes": [NODE, NODE]})
    assert len(list(edits(whole))) == 2
    assert len(list(items(whole, "deviceNodes"))) == 3
    assert list(edits({"devices": 5, "containerEdits": []})) == []
    (tmp_path / "b.json").write_text("")
    (tmp_path / "a.yml").write_text("")
    opened = {"directories": [str(tmp_path), str(tmp_path / "none")]}
    assert [path.name for path in files(opened)] == ["a.yml", "b.json"]
