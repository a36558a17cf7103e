"""CRI as the engine and the command know it."""

from __future__ import annotations

from conformance.engine.interface import FAKES, Interface, Option, Scheme

__all__ = ["CRI"]

_RUNTIME = ("CRI-*",)

CRI = Interface(
    name="cri",
    package="conformance.cri",
    title="Container Runtime Interface: runtimes",
    heading="CRI",
    subject="a container runtime",
    prefixes=("CRI",),
    catalogues=("cri",),
    family="cri",
    revisions=tuple(f"1.{minor}" for minor in range(26, 38)),
    targets={
        **{name: Scheme(shown="fake" if name == "fake" else "", judges=_RUNTIME) for name in FAKES},
        "unix": Scheme(
            shown="unix:///run/containerd/containerd.sock, or the path alone", judges=_RUNTIME
        ),
    },
    settings="conformance.cri.settings:CriSettings",
    opener="conformance.cri.opening:open_target",
    leftovers="conformance.cri.opening:open_leftovers",
    waits=True,
    fakes={"cri": "refimpl.cri.fake:FakeRuntime"},
    preload=("conformance.cri.opening", "refimpl.cri.fake"),
    options=(
        Option(
            flag="cri-image",
            field="image",
            metavar="NAME",
            text="Image of the containers made, with a shell, which the node has.",
        ),
        Option(
            flag="cri-cgroup-parent",
            field="cgroup_parent",
            metavar="PATH",
            text="cgroup_parent of the sandboxes made.",
        ),
    ),
)
