"""Generates the protobuf modules that are checked in beside our `.proto` files.

`python tests/schemas/generate.py` rewrites them in place, `--check` only compares and exits 1 if
one differs. The group `protos` of pyproject.toml pins the tools: modules from grpcio-tools 1.76
load on protobuf 6.31, grpcio 1.76 and later ones; those of a newer tool refuse these runtimes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata, util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
COMMAND = "python tests/schemas/generate.py"


class ToolError(Exception):
    """A tool is missing, has another version than the pinned one, or refuses the schemas."""


def protos() -> list[Path]:
    """Our schemas, relative to the root of the repository."""
    return sorted(path.relative_to(ROOT) for path in ROOT.glob("refimpl/*/api/*.proto"))


def check_tools() -> None:
    """Raises ToolError unless exactly the pinned tools are installed."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    for pin in groups["protos"]:
        name, _, pinned = pin.partition("==")
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = "none"
        if installed != pinned:
            needed = " ".join(groups["protos"])
            raise ToolError(f"{name} {pinned} needed, {installed} installed: pip install {needed}")


def generate(target: Path) -> None:
    """Writes the modules of every schema below `target`; raises ToolError if protoc fails."""
    spec = util.find_spec("grpc_tools")
    if spec is None or spec.origin is None:
        raise ToolError("grpc_tools cannot be imported")
    scripts = Path(sysconfig.get_path("scripts"))
    command = [
        *(sys.executable, "-m", "grpc_tools.protoc"),
        *(f"-I{ROOT}", f"-I{Path(spec.origin).parent / '_proto'}"),
        f"--plugin=protoc-gen-mypy={scripts / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={scripts / 'protoc-gen-mypy_grpc'}",
        *(f"--{out}={target}" for out in ("python_out", "grpc_python_out")),
        f"--mypy_out={target}",
        # Our servers and clients are synchronous: the stubs for grpc.aio would double the types.
        f"--mypy_grpc_out=only_sync:{target}",
        *(path.as_posix() for path in protos()),
    ]
    # mypy-protobuf reports every file it writes on stderr: shown only if something went wrong.
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode:
        raise ToolError(process.stderr.strip())


def modules(root: Path) -> Mapping[Path, bytes]:
    """The generated files below `root`, by their path relative to it."""
    return dict(sorted(_generated(root)))


def _generated(root: Path) -> Iterator[tuple[Path, bytes]]:
    for path in root.glob("refimpl/*/api/*"):
        if path.name.endswith(SUFFIXES):
            yield path.relative_to(root), path.read_bytes()


def differences(fresh: Mapping[Path, bytes], present: Mapping[Path, bytes]) -> list[str]:
    """One line a file that is missing, stale, or left over from a schema that is gone."""
    lines = [f"missing: {path}" for path in fresh if path not in present]
    lines += [f"differs: {path}" for path in fresh if present.get(path, fresh[path]) != fresh[path]]
    lines += [f"no schema: {path}" for path in present if path not in fresh]
    return sorted(lines)


def check() -> int:
    """Compares the checked-in modules with fresh ones; 0 if they are equal, else 1."""
    with tempfile.TemporaryDirectory() as directory:
        generate(Path(directory))
        lines = differences(modules(Path(directory)), modules(ROOT))
    if lines:
        print("\n".join(lines), f"Run: {COMMAND}", sep="\n", file=sys.stderr)
    return 1 if lines else 0


def main(arguments: list[str] | None = None) -> int:
    """0 done or equal, 1 with `--check` if a file differs, 2 if the tools cannot do it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args(arguments)
    try:
        check_tools()
        if options.check:
            return check()
        stale = modules(ROOT)
        generate(ROOT)
    except ToolError as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 2
    sources = {path.as_posix().removesuffix(".proto") for path in protos()}
    for path in stale:
        if path.as_posix().rpartition("_pb2")[0] not in sources:
            (ROOT / path).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
