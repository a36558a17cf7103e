"""The choices of a run."""

from __future__ import annotations

import pytest

from conformance.engine import options as choices
from conformance.engine.case import Case
from conformance.engine.level import MUST, SHOULD, Level
from conformance.engine.options import BadOption, Options


def _case(id: str = "CSI-CTRL-001", level: Level = MUST) -> Case:
    return Case(id, level, "CSI 1.13", (), "a volume without a name is refused", "", False, False)


def test_everything_is_selected_by_default() -> None:
    """A first run shows all there is."""
    assert Options().selects(_case(level=SHOULD))


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        (Options(only=("CSI-CTRL-*",)), True),
        (Options(only=("CSI-PUB-*", "CSI-CTRL-002")), False),
        (Options(skip=("*-001",)), False),
        (Options(only=("CSI-*",), skip=("CSI-PUB-*",)), True),
        (Options(focus="without a name"), True),
        (Options(focus="^CSI-PUB"), False),
        (Options(skip_re="name"), False),
        (Options(level="must"), True),
    ],
)
def test_each_option_narrows_the_selection(options: Options, selected: bool) -> None:
    """Globs look at ids, expressions at ids and titles."""
    assert options.selects(_case()) is selected


def test_a_level_leaves_out_what_is_softer() -> None:
    """--level must."""
    assert not Options(level="must").selects(_case(level=SHOULD))


@pytest.mark.parametrize(
    "options", [Options(level="musty"), Options(focus="("), Options(skip_re="[")]
)
def test_a_choice_that_cannot_be_used_is_named(options: Options) -> None:
    """Before anything runs."""
    with pytest.raises(BadOption, match="--"):
        options.check()


def test_options_survive_the_way_to_a_worker() -> None:
    """xdist starts other processes."""
    options = Options(
        interface="csi", command=("./driver", "--x={endpoint}"), settings={"csi.secrets": "f"}
    )
    assert choices.decode(choices.encode(options)) == options


def test_garbage_is_refused() -> None:
    """--refimpl-options is hidden, not unguarded."""
    with pytest.raises(BadOption):
        choices.decode('{"nonsense": 1}')


def test_what_is_no_text_is_refused() -> None:
    """A byte of the command line or of a variable that is no UTF-8 could go into no report."""
    options = Options(report_dir="out-\udcff")
    with pytest.raises(BadOption, match=r"'out-\\udcff', which is no text"):
        options.check()
