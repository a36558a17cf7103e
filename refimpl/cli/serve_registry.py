"""`refimpl serve registry`: the images that we make, as a runtime pulls them."""

from __future__ import annotations

from pathlib import Path

import click

from refimpl import files
from refimpl.cli.errors import Usage
from refimpl.cli.foreground import interruption, refusals

__all__ = ["command"]


@click.command(
    name="registry",
    epilog="""\b
Examples:
  refimpl serve registry                        on a free port of 127.0.0.1
  refimpl serve registry --port 5000 --user me --password-file secret
  crictl pull 127.0.0.1:5000/busybox:1
""",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
@click.option("--busybox", metavar="FILE", help="A static busybox.  [that of this machine]")
@click.option("--user", metavar="NAME", help="Ask for this name and a password.")
@click.option("--password-file", metavar="FILE", help="Its first line is the password.")
@click.option("--bearer", is_flag=True, help="Ask for a token that these buy at /token.")
def command(
    port: int, busybox: str | None, user: str | None, password_file: str | None, bearer: bool
) -> None:
    """Serve container images on loopback over plain HTTP, for who may not reach the internet.

    `refimpl images list` names them. Without a busybox they have no programs that run.
    """
    from refimpl.images.registry import Anybody, Basic, Bearer, Registry
    from refimpl.images.shelf import Shelf

    if (user is None) != (password_file is None) or (bearer and user is None):
        raise Usage("--user and --password-file go together, and --bearer needs them")
    access: Anybody | Basic | Bearer = Anybody()
    if user is not None and password_file is not None:
        access = (Bearer if bearer else Basic)(user, _first_line(password_file))
    shelf = Shelf(program(busybox))
    with (
        interruption() as wait,
        refusals(OSError),
        Registry(shelf, port=port, access=access) as registry,
    ):
        click.echo(f"ready {registry.address}")
        wait()


def program(busybox: str | None) -> bytes | None:
    """The bytes of a busybox, of this machine where none is named; None where there is none.

    Raises Usage.
    """
    from refimpl.images.shelf import find_busybox

    path = Path(busybox) if busybox else find_busybox()
    if path is None:
        return None
    try:
        return files.read(path)
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from None


def _first_line(path: str) -> str:
    try:
        lines = files.read(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"--password-file {path}: {error}") from None
    if not lines:
        raise Usage(f"--password-file {path} is empty")
    return lines[0]
