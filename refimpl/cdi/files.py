"""CDI files: read and judged, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, Literal

import yaml

from refimpl.cdi.findings import Finding
from refimpl.cdi.model import Spec, encode
from refimpl.cdi.registry import SpecFile
from refimpl.cdi.rules import Policy
from refimpl.cdi.validate import judge
from refimpl.documents import json
from refimpl.documents.scalars import DIVIDED, resolve

Form = Literal["yaml", "json"]
SUFFIXES = (".json", ".yaml")
"""Of the files that a directory is searched for; anything else in it is no specification."""

FILE_MODE, DIRECTORY_MODE = 0o644, 0o755


class SpecError(ValueError):
    """A specification that no loader takes; `findings` has every breach, the text the errors."""

    def __init__(self, subject: str, findings: tuple[Finding, ...]) -> None:
        errors = [str(finding) for finding in findings if finding.level == "error"]
        super().__init__("\n".join([f"{subject}:", *errors]))
        self.findings = findings


def load(
    path: str | os.PathLike[str], *, priority: int = 0, policy: Policy = "practice"
) -> SpecFile:
    """Reads and judges one file; what keeps it from being read is a finding, too."""
    name = os.fspath(path)
    try:
        judged = judge(_content(name), name=name, policy=policy)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        text = f"the file cannot be read: {reason}"
        return SpecFile(
            name, priority, None, (Finding("unreadable", "error", (), name, 1, 1, text),)
        )
    return SpecFile(name, priority, judged.spec, judged.findings)


def parse(data: bytes, *, name: str = "", policy: Policy = "practice") -> Spec:
    """The specification of a text. Raises SpecError."""
    judged = judge(data, name=name, policy=policy)
    if judged.spec is None:
        raise SpecError(f"{name or 'the text'} is no CDI specification", judged.findings)
    return judged.spec


def dump(spec: Spec, form: Form = "yaml") -> bytes:
    """The text of a specification; loading it gives an equal one."""
    document = encode(spec)
    if form == "json":
        return json.dump(document) + b"\n"
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return b"---\n" + text.encode()


def file_name(spec: Spec, *, transient_id: str = "", form: Form = "yaml") -> str:
    """`vendor-class.yaml`, or `vendor-class_id.yaml` for what lives as long as something else,
    such as a claim or a container; slashes of the id become underscores.
    """
    stem = f"{spec.vendor}-{spec.device_class}"
    if transient_id:
        stem += "_" + transient_id.replace("/", "_")
    return f"{stem}.{form}"


def write(
    spec: Spec,
    directory: str | os.PathLike[str],
    *,
    name: str = "",
    transient_id: str = "",
    form: Form = "yaml",
    overwrite: bool = True,
    policy: Policy = "practice",
) -> Path:
    """Puts the file into the directory, which is made if it is missing, and returns its path.

    A reader sees the old file or the new one, never a part. Raises SpecError for a specification
    that is not valid, FileExistsError where `overwrite` is False, OSError.
    """
    path = Path(directory, name or file_name(spec, transient_id=transient_id, form=form))
    form = "json" if path.suffix == ".json" else "yaml"
    if path.suffix not in SUFFIXES:
        path = path.with_name(f"{path.name}.{form}")
    data = dump(spec, form)
    judged = judge(data, name=str(path), policy=policy)
    if judged.errors:
        raise SpecError(f"{path} is not written, for it would not load", judged.findings)
    path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    replace(path, data, overwrite=overwrite)
    return path


def remove(directory: str | os.PathLike[str], name: str) -> None:
    """Removes a written file; a missing one is no error. Raises OSError."""
    path = Path(directory, name)
    if path.suffix not in SUFFIXES:
        path = path.with_name(path.name + ".yaml")
    path.unlink(missing_ok=True)


def _content(path: str) -> bytes:
    # Without blocking: a FIFO of that name must not hold up a whole scan.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        return file.read()


def replace(path: Path, data: bytes, *, overwrite: bool = True, mode: int = FILE_MODE) -> None:
    """Gives the file its content at once, through a temporary one beside it, whose suffix no scan
    looks for. Raises FileExistsError, unless `overwrite`, and OSError.
    """
    descriptor, temporary = tempfile.mkstemp(prefix="spec.", suffix=".tmp", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)
            os.unlink(temporary)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


# libyaml where PyYAML was built with it: ten times as fast, the same text.
_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_SafeDumper):  # type: ignore[misc]
    """Quotes every string that some reader of YAML takes for something else."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Equal parts are written out: an alias saves nothing here."""
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    try:
        plain = text == resolve(text)[0] and text not in DIVIDED
    except ValueError:
        plain = False
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _string)
