"""CNI as the engine and the command know it: plugins, runtimes and network configurations."""

from __future__ import annotations

from conformance.engine.interface import FAKES, Interface, Option, Scheme

__all__ = ["CNI", "POLICY"]

_PLUGIN, _RUNTIME, _NETWORKS = ("CNI-PLG-*",), ("CNI-RT-*",), ("CNI-CFG-*",)

POLICY = Option(
    flag="policy",
    field="policy",
    text="Where the specification and the field part: which counts; report only warns.  [strict]",
    choices=("strict", "practice", "report"),
)

CNI = Interface(
    name="cni",
    package="conformance.cni",
    title="Container Network Interface: plugins, runtimes",
    heading="CNI",
    subject="a CNI target",
    prefixes=("CNI",),
    catalogues=("cni",),
    family="cni",
    revisions=("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"),
    targets={
        **{
            name: Scheme(
                shown="fake" if name == "fake" else "",
                judges=(*_PLUGIN, *_RUNTIME, *_NETWORKS),
            )
            for name in FAKES
        },
        "exec": Scheme(shown="exec:PLUGIN", judges=_PLUGIN),
        "cnitool": Scheme(shown="cnitool:PATH", judges=_RUNTIME),
        "unix": Scheme(shown="the CRI socket of a runtime", judges=_RUNTIME),
        "dir": Scheme(shown="dir:FOLDER", judges=_NETWORKS),
        "file": Scheme(shown="file:DOCUMENT", judges=_NETWORKS),
    },
    settings="conformance.cni.settings:CniSettings",
    opener="conformance.cni.opening:open_target",
    leftovers="conformance.cni.opening:open_leftovers",
    preload=("conformance.cni.fakes",),
    options=(
        Option(
            flag="config",
            field="config",
            metavar="FILE",
            text="Network configuration that names the plugin.  [one of ours]",
        ),
        Option(
            flag="cni-path",
            field="path",
            metavar="DIRS",
            text="Where delegates of a plugin, and plugins of dir: and file:, lie.",
        ),
        Option(
            flag="cni-kind",
            field="kind",
            text="What the plugin does.",
            choices=("interface", "chained", "ipam"),
        ),
        Option(
            flag="cni-ifname", field="ifname", metavar="NAME", text="Interface to ask for.  [eth0]"
        ),
        Option(
            flag="cni-args", field="args", metavar="K=V;...", text="CNI_ARGS of every attachment."
        ),
        POLICY,
        Option(
            flag="cni-conf-dir",
            field="conf_dir",
            metavar="DIR",
            text="Where a runtime under test reads configurations.",
        ),
        Option(
            flag="cni-bin-dir",
            field="bin_dir",
            metavar="DIR",
            text="Where a runtime under test looks for plugins.",
        ),
        Option(
            flag="cni-cache-dir",
            field="cache_dir",
            metavar="DIR",
            text="Where a runtime under test keeps its results.",
        ),
    ),
)
