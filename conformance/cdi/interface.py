"""CDI as the engine and the command know it."""

from __future__ import annotations

from conformance.cni.interface import POLICY
from conformance.engine.interface import COMMAND, FAKES, Interface, Option, Scheme

__all__ = ["CDI"]

_EVERY = ("CDI-*",)

CDI = Interface(
    name="cdi",
    package="conformance.cdi",
    title="Container Device Interface: libraries, runtimes",
    heading="CDI",
    subject="a CDI target",
    prefixes=("CDI",),
    catalogues=("cdi",),
    family="cdi",
    revisions=("0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"),
    targets={
        **{name: Scheme(shown="fake" if name == "fake" else "", judges=_EVERY) for name in FAKES},
        "exec": Scheme(shown="exec:/path/cdi (the tool of the Go project)", judges=_EVERY),
        "unix": Scheme(shown="the CRI socket of a runtime", judges=_EVERY),
        COMMAND: Scheme(shown="-- COMMAND, an adapter of a library", judges=_EVERY),
    },
    settings="conformance.cdi.settings:CdiSettings",
    opener="conformance.cdi.target:open_target",
    leftovers="conformance.cdi.target:open_leftovers",
    preload=("conformance.cdi.target",),
    options=(
        POLICY,
        Option(
            flag="cdi-image",
            field="image",
            metavar="NAME",
            text="Image of the containers made, which the node has.",
        ),
        Option(
            flag="cdi-dir",
            field="dirs",
            metavar="DIR",
            text="Directory that a runtime under test reads; a later one wins (repeatable).",
            many=True,
        ),
    ),
)
