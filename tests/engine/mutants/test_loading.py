"""Finding mutants by name, and putting one between the wire and a fake."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from conformance.engine import fixtures, mutants
from conformance.engine.mutants import Mutant, loading
from conformance.engine.options import BadOption

MUTANT = '''
from conformance.engine.mutants import Mutant


class {name}(Mutant):
    """Broken."""

    kills = {{"TOY-A-001"}}


class Base(Mutant):
    """Kills nothing, so it is only a base of others."""
'''


class Toys:
    """A service."""

    def Play(self, request: str, call: object) -> str:
        return f"played {request}"

    def Stop(self, request: str, call: object) -> str:
        return f"stopped {request}"


class PlaysTwice(Mutant):
    """Bends one RPC."""

    profile: ClassVar[str] = "default"
    without: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[Mapping[str, str]] = {}
    shaped_by = ("profile", "without", "settings")

    def Play(self, proceed: Any, request: str, call: object) -> str:
        return f"{proceed(request, call)}, {proceed('again', call)}"


class Fake:
    """As much of a fake as a mutant sees."""

    def __init__(self, **choices: object) -> None:
        self.choices = choices

    def services(self) -> dict[str, object]:
        return {"toys": Toys()}

    def node_services(self, index: int) -> dict[str, object]:
        return {"toys": Toys()}

    def start(self) -> str:
        return "started"


class Started(PlaysTwice):
    """Wants a fake of another shape, and touches it once it runs."""

    profile, without, settings = "small", ("X",), {}
    touched = False

    def started(self) -> None:
        self.touched = True


def test_a_broken_fake_has_the_shape_of_its_mutant() -> None:
    """Every service of it is bent, and the mutant is told when it runs."""
    mutant = Started()
    made = mutants.fake(Fake, mutant, endpoint="/x")
    assert made.choices == {"profile": "small", "without": ("X",), "endpoint": "/x"}
    assert mutant.fake is made
    assert made.start() == "started"
    assert mutant.touched
    for services in (made.services(), made.node_services(0)):
        assert services["toys"].Play("ball", None) == "played ball, played again"


def test_an_unbroken_fake_has_the_shape_and_nothing_else() -> None:
    """It shows that the case fails because of the breach."""
    mutant = Started()
    made = mutants.fake(Fake, mutant, broken=False)
    made.start()
    assert type(made) is Fake
    assert not mutant.touched


def test_the_shape_is_what_differs_from_the_plain_fake() -> None:
    """Mutants of one shape break one fake, which is judged whole as well."""
    assert PlaysTwice.shape() == Mutant.shape() == ""
    assert Started.shape() == "{'profile': 'small', 'without': ('X',)}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of mutants."""
    (tmp_path / "mutants" / "toy").mkdir(parents=True)
    classes = loading.classes.__wrapped__
    monkeypatch.setattr(fixtures, "folder", lambda: tmp_path)
    for module in (mutants, loading):
        monkeypatch.setattr(module, "classes", classes)
    return tmp_path / "mutants"


def test_mutants_are_found_in_the_folder_of_their_interface(folder: Path) -> None:
    """Those that kill something."""
    (folder / "toy/a.py").write_text(MUTANT.format(name="One"))
    (folder / "toy/b.py").write_text(MUTANT.format(name="Two"))
    (folder / "other.py").write_text(MUTANT.format(name="Three"))
    assert list(mutants.classes("toy")) == ["One", "Two"]
    assert type(mutants.load("toy", "Two")).__name__ == "Two"


def test_a_name_is_used_once(folder: Path) -> None:
    """It is what people type."""
    for file in ("toy/a.py", "toy/b.py"):
        (folder / file).write_text(MUTANT.format(name="One"))
    with pytest.raises(BadOption, match=r"toy/b.py: there are two mutants called One"):
        mutants.classes("toy")
    (folder / "toy/b.py").unlink()
    with pytest.raises(BadOption, match="toy has no mutant of that name"):
        mutants.load("toy", "None")


def test_the_command_serves_the_very_mutant() -> None:
    """For cases that start and kill the driver."""
    words = mutants.command("csi", "X", broken=False)
    assert words[1:] == [
        *("-m", "conformance.engine.matrix", "--serve", "csi", "unbroken:X"),
        *("{endpoint}", "{dir}"),
    ]
    assert "mutant:X" in mutants.command("csi", "X")
