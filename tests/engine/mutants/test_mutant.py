"""Where the methods of a mutant stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from conformance.engine.mutants import Interposed, Mutant, Own, bent, standing
from refimpl.wire.seam import Seam


class Toys:
    """A service."""

    def __init__(self, name: str = "toys") -> None:
        self.name = name

    def Play(self, request: str, call: object) -> str:
        return f"played {request}"

    def Stop(self, request: str, call: object) -> str:
        return f"stopped {request}"


class PlaysTwice(Mutant):
    """Bends one RPC, and has an attribute that is none."""

    name = "twice"

    def Play(self, proceed: Any, request: str, call: object) -> str:
        return f"{proceed(request, call)}, {proceed('again', call)}"


PLAY = Seam.of(Toys.Play)


class Inside(Mutant):
    """Stands before one method that it says, and before another one by its name."""

    by_name: ClassVar[Mapping[str, Seam]] = {"Stop": Seam.of(Toys.Stop), "Play": PLAY}

    @PLAY
    def played(self, proceed: Any, request: str, call: object) -> str:
        return f"{proceed.__self__.name}: {proceed(request.upper(), call)}"

    def Stop(self, proceed: Any, request: str, call: object) -> str:
        return "not stopped"


def test_a_mutant_stands_before_the_rpcs_it_names() -> None:
    """All others pass, and what the fake does not have is still missing."""
    toys: Any = Interposed(Toys(), PlaysTwice())
    assert toys.Play("ball", None) == "played ball, played again"
    assert toys.Stop("ball", None) == "stopped ball"
    assert toys.name == "toys"
    with pytest.raises(AttributeError):
        toys.Burn  # noqa: B018


def test_without_a_mutant_nothing_is_bent() -> None:
    """The very function."""
    assert bent(None, "upper", str.upper) is str.upper


def test_a_mutant_stands_before_its_seams_for_a_while() -> None:
    """With the object as `proceed.__self__`; a name without a method is no seam."""
    toys = Toys("mine")
    with standing(Inside()):
        assert toys.Play("ball", None) == "mine: played BALL"
        assert toys.Stop("ball", None) == "not stopped"
    assert toys.Play("ball", None) == "played ball"
    assert toys.Stop("ball", None) == "stopped ball"


def test_no_mutant_stands_nowhere() -> None:
    """As for the fake itself."""
    with standing(None):
        assert Toys().Play("ball", None) == "played ball"


def test_what_a_mutant_keeps_is_its_own() -> None:
    """Made when it is first asked for."""

    class Keeps(Mutant):
        seen = Own(list[int])

    one, other = Keeps(), Keeps()
    one.seen.append(1)
    assert (one.seen, other.seen) == ([1], [])
