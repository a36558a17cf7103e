"""What each runtime does with a folder of configurations, and why.

Read from go-cni 1.1 (containerd), ocicni 0.5 (CRI-O), libcni 1.3 (cnitool) and nerdctl 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from refimpl.cni.config import shape
from refimpl.cni.config.folder import LISTS, extension
from refimpl.cni.lint.subject import Folder, Network, Source, text

NERDCTLS_DEFAULT = "bridge"
NERDCTLS_LABEL = "nerdctl/default-network"


@attrs.frozen
class Choice:
    """`uses`: file name of the default network, "" for none. `networks`: name -> file name of
    every network that can be asked for. `skipped`: file name -> why it takes no part.
    """

    runtime: str
    uses: str
    why: str
    networks: dict[str, str] = attrs.field(factory=dict)
    skipped: dict[str, str] = attrs.field(factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON form: the fields by their names."""
        return attrs.asdict(self)


def choices(folder: Folder, obstacle: Callable[[Network], str] | None = None) -> list[Choice]:
    """One choice a runtime. `obstacle` says what about its plugins keeps a network out."""
    return [
        _containerd(folder),
        _crio(folder, obstacle or (lambda _network: "")),
        _by_name(folder),
        _nerdctl(folder),
    ]


def refusal(network: Network) -> str:
    """Why libcni does not load the file; "" when it does."""
    source = network.source
    if source.document is None or any(
        note.kind == "byte-order-mark" for note in source.document.notes
    ):
        return source.defect[2] if source.defect else "it starts with a byte order mark"
    listed = extension(source.path.name) in LISTS
    if not listed and not text(network.value.get("type")):
        return 'it has no "type"' + (
            "; a list belongs into a .conflist" * ("plugins" in network.value)
        )
    if listed and network.single:
        return 'it has no "plugins"'
    problem = _first(shape.problems(source.value, as_single=not listed))
    if not problem and listed and not network.plugins:
        return "it has no plugins"
    return problem or (_subdirectory(network) if listed else "")


def _subdirectory(network: Network) -> str:
    """Why a plugin document of the sub-directory stops the load."""
    if network.subdirectory is None or not network.merges:
        return ""
    if network.subdirectory.defect:
        return f"{network.subdirectory.path.name}: {network.subdirectory.defect}"
    for source in network.subdirectory.sources:
        wrong = (
            source.defect[2] if source.defect else _first(shape.plugin_problems(source.value, ()))
        )
        if wrong:
            return f"{source.path.parent.name}/{source.path.name}: {wrong}"
    return ""


def _first(problems: Iterable[shape.Problem]) -> str:
    return next((problem.text for problem in problems if not problem.tolerated), "")


def _file(source: Source) -> str:
    return source.path.name


def _containerd(folder: Folder) -> Choice:
    """One file (max_conf_num 1): the first one, and nothing when that one is bad."""
    skipped = {
        _file(network.source): "max_conf_num is 1: not read" for network in folder.networks[1:]
    }
    if not folder.networks:
        return Choice("containerd", "", "no configuration: NetworkReady stays false")
    first = folder.networks[0]
    wrong, name = refusal(first), _file(first.source)
    if wrong:
        why = f"{name} sorts first and does not load ({wrong}): no network at all"
        return Choice("containerd", "", why, skipped={name: wrong, **skipped})
    return Choice("containerd", name, "sorts first", {first.name: name}, skipped)


def _crio(folder: Folder, obstacle: Callable[[Network], str]) -> Choice:
    """All good files; the first is the default, the first of one name wins."""
    networks: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for network in folder.networks:
        name, known = _file(network.source), network.name or _file(network.source)
        wrong = refusal(network) or obstacle(network)
        if not wrong and known in networks:
            wrong = f'network "{known}" is already taken from {networks[known]}'
        if wrong:
            skipped[name] = wrong
        else:
            networks[known] = name
    uses = next(iter(networks.values()), "")
    why = "first file that loads; cni_default_network would change that"
    return Choice("CRI-O", uses, why if uses else "no file loads", networks, skipped)


def _by_name(folder: Folder) -> Choice:
    """Lists first, then single plugins; a bad file hides every name that comes after it."""
    ordered = sorted(folder.networks, key=lambda one: extension(_file(one.source)) not in LISTS)
    networks: dict[str, str] = {}
    skipped: dict[str, str] = {}
    broken = ""
    for network in ordered:
        name = _file(network.source)
        wrong = refusal(network)
        if broken:
            skipped[name] = f"the search ends at {broken}"
        elif wrong:
            broken, skipped[name] = name, wrong
        elif networks.setdefault(network.name, name) != name:
            skipped[name] = f'network "{network.name}" is found in {networks[network.name]} first'
    why = "no default: a network is asked for by name; lists are searched first"
    return Choice("libcni, cnitool", "", why, networks, skipped)


def _nerdctl(folder: Folder) -> Choice:
    """All files or none; the last of one name wins."""
    networks: dict[str, str] = {}
    skipped: dict[str, str] = {}
    default = ""
    for network in folder.networks:
        name, wrong = _file(network.source), refusal(network)
        if wrong:
            why = f"{name} does not load ({wrong}): every command on networks fails"
            return Choice("nerdctl", "", why, skipped={name: wrong})
        if network.name in networks:
            skipped[networks[network.name]] = f'network "{network.name}" is replaced by {name}'
        networks[network.name] = name
        labels = network.value.get("nerdctlLabels")
        if not default and isinstance(labels, dict) and NERDCTLS_LABEL in labels:
            default = name
    uses = default or networks.get(NERDCTLS_DEFAULT, "")
    why = f'the network with its label, or the one named "{NERDCTLS_DEFAULT}"'
    lacking = f'makes a network "{NERDCTLS_DEFAULT}" of its own; others by name'
    return Choice("nerdctl", uses, why if uses else lacking, networks, skipped)
