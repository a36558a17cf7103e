"""The report for people: one HTML file that needs no network, no server and no JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

from conformance.engine.events import CaseDone, Event
from conformance.engine.reports.calls import Call
from conformance.engine.reports.conclusion import conclude, facts
from conformance.engine.reports.digest import RANKED, WORDS, Digest, also, plural
from conformance.engine.reports.repeats import CALLS_SHOWN
from conformance.engine.reports.text import (
    as_json,
    capped,
    count,
    duration,
    one_line,
    printable,
    sketch,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_LONGEST = 10_000
_SHORT = 120


def html(stream: Iterable[Event]) -> str:
    """The report as one document."""
    digest = Digest.of(stream)
    counts = digest.counts
    return render(
        "report.html.j2",
        digest=digest,
        conclusion=conclude(digest),
        facts=facts(digest),
        counts=[(name, plural(name, counts[name]), counts[name]) for name in RANKED],
    )


def render(template: str, **values: Any) -> str:
    """A template of this folder as one document, in which nothing of a target is taken for markup
    and no control character is left."""
    return _environment().get_template(template).render(values).strip() + "\n"


def _template(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _environment() -> Environment:
    # Imported late: only a run that leaves reports pays for it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )
    environment.filters |= {
        "calls": Call.last,
        "also": also,
        "duration": duration,
        "brief": lambda value: sketch(value, _SHORT),
        "flowing": one_line,
        "pretty": _pretty,
        "sought": _sought,
    }
    environment.globals |= {"count": count, "shown": CALLS_SHOWN, "words": WORDS}
    return environment


def _safe(value: Any) -> Any:
    """Whatever the template prints passes here, so that no control character gets through."""
    from markupsafe import Markup

    if isinstance(value, str) and not isinstance(value, Markup):
        return capped(value, _LONGEST)
    return value


def _pretty(value: Any) -> str:
    """A request or reply to read: JSON with line breaks where it is long."""
    line = as_json(value)
    return line if len(line) <= _SHORT else as_json(value, indent=2)


def _sought(done: CaseDone) -> str:
    """What the text filter looks through."""
    parts = (done.id, done.title, done.section, done.source, done.message, done.wanted, done.got)
    more = (text for _, text in also(done))
    return printable(one_line(" ".join((*parts, *more)), 600)).lower()
