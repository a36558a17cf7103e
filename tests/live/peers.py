"""Real programs, brought in when a test of theirs is selected and kept outside the checkout in
$REFIMPL_PEERS (default ~/.cache/refimpl/peers), one folder a version.

What is written in Go is built from the module proxy; older releases are unpacked, not installed,
from Debian's packages.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest

from conformance.engine.targets.targetfile import target_file

__all__ = [
    "CDI",
    "CNI_PLUGINS",
    "USED",
    "Containerd",
    "built_cni_plugins",
    "built_containerd",
    "built_dra_allocator",
    "built_kubernetes",
    "busybox",
    "cdi_library",
    "cni_plugins",
    "cnitool",
    "containerd",
    "crictl",
    "critest",
    "csi_sanity",
    "debian_cni",
    "debian_containerd",
    "dra_allocator",
    "dra_cel",
    "grpcurl",
    "kubelet_command",
    "kubernetes",
    "kubernetes_wanted",
    "mock_driver",
    "oci_conformance",
    "unpacked_busybox",
]

CDI = ("1.1.0", "1.1.2")
CNI = "1.3.1"
CNI_PLUGINS = "1.10.0"
CONTAINERD = "2.4.2"
CRICTL = "1.37.0"
CRITEST = "1.37.0"
CSI_SANITY = "5.6.0"
GRPCURL = "1.9.4"
KUBERNETES = "1.37.2"
OCI_CONFORMANCE = "0.0.0-20260831232431-97274622c111"
RUNC = "1.5.3"
DEBIAN_CNI_PLUGINS = "1.1.1"
DEBIAN_CONTAINERD = "1.6.20"
HERE = Path(__file__).parent

USED: dict[str, str] = {}
"""Name and version of each peer that this run has asked for."""

_PLUGINS = "github.com/containernetworking/plugins/plugins"
_PLUGIN_SOURCES = (
    *(f"main/{name}" for name in ("bridge", "dummy", "host-device", "ipvlan", "loopback")),
    *(f"main/{name}" for name in ("macvlan", "ptp", "tap", "vlan")),
    *(f"ipam/{name}" for name in ("dhcp", "host-local", "static")),
    *(f"meta/{name}" for name in ("bandwidth", "firewall", "portmap", "sbr", "tuning", "vrf")),
)
_KUBERNETES_SOURCES = (
    "cmd/kubelet",
    "test/e2e/dra/test-driver",
    "test/images/sample-device-plugin",
)
_KUBERNETES_PROGRAMS = [path.rpartition("/")[2] for path in _KUBERNETES_SOURCES]
_CONTAINERD_PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr")


@attrs.frozen
class Containerd:
    """One containerd with all it starts: its version and the folders of a PATH to run it with."""

    version: str
    path: tuple[Path, ...]

    def program(self, name: str) -> Path:
        """Where `ctr` or `containerd` is; raises FileNotFoundError."""
        found = shutil.which(name, path=os.pathsep.join(map(str, self.path)))
        if found is None:
            raise FileNotFoundError(f"no {name} in {', '.join(map(str, self.path))}")
        return Path(found)


@pytest.fixture(scope="session")
def csi_sanity() -> Path:
    """The program of csi-sanity."""
    module = "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity"
    return _installed("csi-sanity", CSI_SANITY, module)


@pytest.fixture(scope="session")
def grpcurl() -> Path:
    """The program that our findings are repeated with."""
    return _installed("grpcurl", GRPCURL, "github.com/fullstorydev/grpcurl/cmd/grpcurl")


@pytest.fixture(scope="session")
def mock_driver() -> Path:
    """The mock CSI driver of Kubernetes' end-to-end tests, behind a main of our own."""
    return own_program("mock-driver", KUBERNETES, "mock_driver")


def kubernetes_wanted() -> bool:
    """Whether kubelet is built already, or may be: that takes ten minutes."""
    built = all((_kubernetes() / name).exists() for name in _KUBERNETES_PROGRAMS)
    return built or bool(os.environ.get("REFIMPL_BUILD_KUBELET"))


@pytest.fixture(scope="session")
def kubernetes() -> Path:
    """The folder of kubelet, the sample device plugin and the DRA test driver."""
    return built_kubernetes()


def kubelet_command(folder: Path) -> list[str]:
    """The kubelet of that folder with the flags that the suites give it."""
    return [str(folder / "kubelet"), *target_file("kubelet", "deviceplugin").command[1:]]


def built_kubernetes() -> Path:
    """See `kubernetes`; `python -m tests.live.peers` builds them beforehand."""

    def build(folder: Path) -> None:
        source = folder / "source"
        source.mkdir(exist_ok=True)
        # The modules that Kubernetes replaces are the same for whoever requires it.
        text = (HERE / "mock_driver" / "go.mod.template").read_text()
        tools = "".join(f"tool k8s.io/kubernetes/{path}\n" for path in _KUBERNETES_SOURCES)
        (source / "go.mod").write_text(f"{text}\n{tools}")
        _go("mod", "tidy", folder=source)
        version = f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES}"
        flags = ("-trimpath", "-ldflags", version)
        _go("install", *flags, "tool", folder=source, GOBIN=str(folder))

    return _built("kubernetes", KUBERNETES, build, _KUBERNETES_PROGRAMS)


@pytest.fixture(scope="session", params=CDI)
def cdi_library(request: pytest.FixtureRequest) -> Path:
    """An adapter of ours around the Go library of CDI, both versions in turn."""
    return own_program("cdi-library", request.param, "cdi_library")


@pytest.fixture(scope="session")
def dra_allocator() -> Path:
    """An adapter of ours around Kubernetes' allocator of devices."""
    return built_dra_allocator()


def built_dra_allocator() -> Path:
    """The same, outside of pytest."""
    return own_program("dra-allocator", KUBERNETES.replace("1.", "0.", 1), "dra/allocator")


@pytest.fixture(scope="session")
def dra_cel() -> Path:
    """An adapter of ours around Kubernetes' compiler of expressions about devices."""
    return own_program("dra-cel", KUBERNETES.replace("1.", "0.", 1), "dra/cel")


@pytest.fixture(scope="session")
def cni_plugins() -> Path:
    """The folder of the reference plugins, the current release."""
    return built_cni_plugins()


def built_cni_plugins() -> Path:
    """See `cni_plugins`."""
    names = [source.partition("/")[2] for source in _PLUGIN_SOURCES]

    def build(folder: Path) -> None:
        modules = [f"{_PLUGINS}/{source}@v{CNI_PLUGINS}" for source in _PLUGIN_SOURCES]
        _install(folder, *modules)

    return _built("cni-plugins", CNI_PLUGINS, build, names)


@pytest.fixture(scope="session")
def debian_cni() -> Path:
    """The folder of the reference plugins as Debian has them: before CNI 1.1.0."""
    package = "containernetworking-plugins"
    return _unpacked("cni-plugins-debian", DEBIAN_CNI_PLUGINS, package) / "usr/lib/cni"


@pytest.fixture(scope="session")
def cnitool() -> Path:
    """The program that calls plugins as libcni does."""
    return _installed("cnitool", CNI, "github.com/containernetworking/cni/cnitool")


@pytest.fixture(scope="session")
def containerd() -> Containerd:
    """The current containerd with its shim, ctr and runc."""
    return built_containerd()


def built_containerd() -> Containerd:
    """See `containerd`."""
    root = "github.com/containerd/containerd/v2"
    commands = [f"{root}/cmd/{name}" for name in _CONTAINERD_PROGRAMS]
    built = _tools("containerd", CONTAINERD, root, commands)
    runc = "github.com/opencontainers/runc"
    return Containerd(CONTAINERD, (built, _tools("runc", RUNC, runc, [runc], "-tags", "seccomp")))


@pytest.fixture(scope="session")
def crictl() -> Path:
    """The command line client of CRI."""
    return _installed("crictl", CRICTL, "sigs.k8s.io/cri-tools/cmd/crictl")


@pytest.fixture(scope="session")
def critest() -> Path:
    """The conformance suite for CRI that runtimes are judged by; a test of its module."""
    module = "sigs.k8s.io/cri-tools"
    lines = ["module peers", "go 1.26", f"require {module} v{CRITEST}"]

    def build(folder: Path) -> None:
        source = folder / "source"
        source.mkdir(exist_ok=True)
        (source / "go.mod").write_text("\n".join(lines) + "\n")
        # Tidying keeps what a test of another module requires only for a package of that module.
        needs = f'package main\n\nimport _ "{module}/pkg/validate"\n\nfunc main() {{}}\n'
        (source / "main.go").write_text(needs)
        _go("mod", "tidy", folder=source)
        out = str(folder / "critest")
        flags = ("-trimpath", "-vet=off", "-o", out)
        _go("test", "-c", *flags, f"{module}/cmd/critest", folder=source)

    return _built("critest", CRITEST, build) / "critest"


@pytest.fixture(scope="session")
def oci_conformance() -> Path:
    """The program that registries are judged by."""
    module = "github.com/opencontainers/distribution-spec/conformance"
    folder = _tools("oci-conformance", OCI_CONFORMANCE, module, [module])
    return folder / "conformance"


@pytest.fixture(scope="session")
def debian_containerd() -> Containerd:
    """The containerd of Debian, two minor releases before 2.0, and its runc."""
    root = _unpacked("containerd-debian", DEBIAN_CONTAINERD, "containerd", "runc")
    return Containerd(DEBIAN_CONTAINERD, (root / "usr/bin", root / "usr/sbin"))


@pytest.fixture(scope="session")
def busybox() -> Path:
    """A static busybox, the payload of the images that we make."""
    return unpacked_busybox()


def unpacked_busybox() -> Path:
    """See `busybox`."""
    return _unpacked("busybox-debian", "1.35", "busybox-static") / "bin/busybox"


def _home() -> Path:
    chosen = os.environ.get("REFIMPL_PEERS") or "~/.cache/refimpl/peers"
    return Path(chosen).expanduser()


def _kubernetes() -> Path:
    return _home() / f"kubernetes-{KUBERNETES}"


def own_program(name: str, version: str, sources: str) -> Path:
    """A program of ours around a Go library; VERSION in its go.mod.template becomes `version`."""

    def build(folder: Path) -> None:
        source = folder / "source"
        shutil.copytree(HERE / sources, source, dirs_exist_ok=True)
        text = (source / "go.mod.template").read_text()
        (source / "go.mod").write_text(text.replace("VERSION", version))
        _go("mod", "tidy", folder=source)
        _go("build", "-trimpath", "-o", str(folder / name), ".", folder=source)

    return _built(name, version, build) / name


def _built(
    name: str, version: str, build: Callable[[Path], None], programs: Sequence[str] = ()
) -> Path:
    """The folder with all `programs` (default: `name`), built once; other processes wait for it."""
    USED[name] = version
    folder = _home() / f"{name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((folder / program).exists() for program in programs or [name]):
            if not shutil.which("go"):
                pytest.skip(f"{name} {version} is not built and there is no Go to build it with")
            build(folder)
            print(f"built {name} {version}")
    return folder


def _installed(name: str, version: str, module: str) -> Path:
    """The program that `go install MODULE@vVERSION` builds."""
    return _built(name, version, lambda folder: _install(folder, f"{module}@v{version}")) / name


def _tools(name: str, version: str, module: str, commands: Sequence[str], *flags: str) -> Path:
    """The folder with commands of a module that replaces others, which `go install` refuses."""
    lines = ["module peers", "go 1.26", f"require {module} v{version}"]
    lines += [f"tool {command}" for command in commands]

    def build(folder: Path) -> None:
        source = folder / "source"
        source.mkdir(exist_ok=True)
        (source / "go.mod").write_text("\n".join(lines) + "\n")
        _go("mod", "tidy", folder=source)
        _go("install", "-trimpath", *flags, "tool", folder=source, GOBIN=str(folder))

    return _built(name, version, build, [Path(command).name for command in commands])


def _install(folder: Path, *modules: str) -> None:
    _go("install", *modules, folder=folder, GOBIN=str(folder), GOFLAGS="-mod=mod")


def _go(*words: str, folder: Path, **env: str) -> None:
    _run("go", *words, folder=folder, **env)


def _run(*words: str, folder: Path, **env: str) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stderr[-2000:]}"
    return done.stdout


def _unpacked(name: str, version: str, *packages: str) -> Path:
    """The root of Debian packages, the first of which has a version that starts with `version`."""
    USED[name] = version
    folder = _home() / f"{name}-{version}"
    root = folder / "root"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            _require_package(packages[0], version)
            _unpack(packages, folder)
            print(f"unpacked {name} {version}")
    return root


def _unpack(packages: Sequence[str], folder: Path) -> None:
    _run("apt-get", "download", *packages, folder=folder)
    for archive in folder.glob("*.deb"):
        _run("dpkg", "--extract", str(archive), "unpacking", folder=folder)
    (folder / "unpacking").rename(folder / "root")


def _require_package(package: str, version: str) -> None:
    if not shutil.which("apt-cache"):
        pytest.skip(f"{package} {version} comes as a package of Debian, and there is no apt here")
    shown = _run("apt-cache", "policy", package, folder=Path("/"))
    offered = shown.partition("Candidate:")[2].split()
    found = offered[0].partition(":")[2] or offered[0] if offered else "none"
    if not found.startswith(version):
        pytest.skip(f"apt offers {package} {found}, not {version}: apt-get update, or Debian 12")


if __name__ == "__main__":
    print(built_kubernetes())
