"""Folders of at most 20 modules, modules of at most 250 lines: who looks for something finds it.

What was larger when this was first counted is listed. The lists only get shorter: a number never
goes up, and an entry goes when it is not needed any more. Rooms of CRI are left out while they are
built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_MODULES, _LINES = 20, 250
_UNFINISHED = ("refimpl/cri", "conformance/cri")
_LARGE_FOLDERS = {
    "refimpl/cli": 29,
    "refimpl/cni/runtime": 21,
    "refimpl/wire": 26,
    "conformance/csi": 23,
    "conformance/csi/common": 23,
    "conformance/engine": 21,
    "conformance/kubelet": 21,
    "tests/cli": 23,
    "tests/cni/runtime": 22,
    "tests/conformance_csi": 22,
    "tests/live": 31,
    "tests/wire": 23,
}
_LONG_MODULES = {
    "refimpl/apiserver/handler.py": 270,
    "refimpl/cdi/inject.py": 320,
    "refimpl/cli/cdi.py": 280,
    "refimpl/cli/run_cni.py": 300,
    "refimpl/cli/serve.py": 290,
    "refimpl/cni/host/kernel.py": 270,
    "refimpl/cni/plugins/kinds/hostlocal.py": 280,
    "refimpl/csi/fake.py": 280,
    "refimpl/csi/state/node/service.py": 300,
    "refimpl/csi/state/settings.py": 260,
    "refimpl/csi/storage/mounts.py": 260,
    "refimpl/deviceplugin/devicemanager/links.py": 320,
    "refimpl/deviceplugin/devicemanager/process.py": 290,
    "refimpl/deviceplugin/fake.py": 270,
    "refimpl/deviceplugin/kubelet.py": 360,
    "refimpl/deviceplugin/plugin/registrar.py": 270,
    "refimpl/deviceplugin/plugin/serving.py": 260,
    "refimpl/deviceplugin/scripted.py": 330,
    "refimpl/documents/yaml.py": 300,
    "refimpl/images/registry/server.py": 300,
    "refimpl/registration/watcher.py": 260,
    "refimpl/streaming/spdy/session.py": 270,
    "refimpl/wire/endpoint.py": 270,
    "refimpl/wire/faults/actions.py": 290,
    "refimpl/wire/journal.py": 300,
    "conformance/cni/cases/addresses/test_delegation.py": 280,
    "conformance/cni/cases/plugins/test_prev_result.py": 300,
    "conformance/cni/plugins/plugin.py": 270,
    "conformance/cni/runtimes/cri.py": 290,
    "conformance/cni/runtimes/ours.py": 260,
    "conformance/cni/runtimes/runtime.py": 260,
    "conformance/csi/cases/health/test_controller_health.py": 290,
    "conformance/csi/cases/health/test_node_health.py": 270,
    "conformance/csi/cases/health/test_volume_stats.py": 300,
    "conformance/csi/cases/volumes/test_create_volume.py": 270,
    "conformance/csi/cases/volumes/test_validate.py": 280,
    "conformance/deviceplugin/plugins/plugin.py": 260,
    "conformance/deviceplugin/vectors/rows.py": 270,
    "conformance/engine/judging/judge.py": 290,
    "conformance/kubelet/real.py": 270,
}


def test_no_folder_has_too_many_modules() -> None:
    """Tests and mutants are looked through as well."""
    counts: dict[str, int] = {}
    for path in _modules("refimpl", "conformance", "tests", "fixtures/mutants", "benchmarks"):
        if path.name != "__init__.py":
            folder = str(path.parent)
            counts[folder] = counts.get(folder, 0) + 1
    _check(counts, _MODULES, _LARGE_FOLDERS, "modules; put those of one topic in a folder")


def test_no_module_is_too_long() -> None:
    """A test module may be a long list; what it tests may not."""
    lengths = {
        str(path): len((_ROOT / path).read_text().splitlines())
        for path in _modules("refimpl", "conformance")
        if "_pb2" not in path.name
    }
    _check(lengths, _LINES, _LONG_MODULES, "lines; move one of its ideas to a module of its own")


def _modules(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        for path in sorted((_ROOT / room).rglob("*.py")):
            within = path.relative_to(_ROOT)
            if not str(within).startswith(_UNFINISHED):
                yield within


def _check(found: Mapping[str, int], most: int, known: Mapping[str, int], advice: str) -> None:
    wrong = [
        f"{name} has {count} {advice} (at most {known.get(name, most)})"
        for name, count in found.items()
        if count > known.get(name, most)
    ]
    wrong += [
        f"{name} is small enough now: remove its entry from {Path(__file__).name}"
        for name in known
        if found.get(name, 0) <= most
    ]
    assert not wrong, "\n".join(wrong)
