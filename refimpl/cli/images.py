"""`refimpl images`: the container images that we make, listed and written to a file."""

from __future__ import annotations

from pathlib import Path

import click

from refimpl.cli.errors import Usage
from refimpl.cli.serve_registry import program

EPILOG = """\b
Examples:
  refimpl images list
  refimpl images export all.tar                        every image
  refimpl images export busybox.tar busybox:1 --prefix localhost
  ctr -n k8s.io images import --local all.tar
"""


@click.group(epilog=EPILOG, subcommand_metavar="COMMAND ...")
def command() -> None:
    """Container images that are made here, the same byte for byte on each machine of a kind.

    `refimpl serve registry` serves them.
    """


@command.command(
    name="list",
    epilog="""\b
Examples:
  refimpl images list
""",
)
@click.option("--busybox", metavar="FILE", help="A static busybox.  [that of this machine]")
def list_images(busybox: str | None) -> None:
    """Print the name of each image and the digest of its manifest."""
    from refimpl.images.shelf import Shelf

    for name, built in Shelf(program(busybox)).items():
        click.echo(f"{name:<22}{built.manifest.digest}")


@command.command(
    epilog="""\b
Examples:
  refimpl images export all.tar
  refimpl images export pause.tar pause:1 --prefix registry.k8s.io
"""
)
@click.argument("archive", metavar="FILE")
@click.argument("names", metavar="[NAME ...]", nargs=-1)
@click.option("--prefix", default="localhost/refimpl", show_default=True, help="Their registry.")
@click.option("--busybox", metavar="FILE", help="A static busybox.  [that of this machine]")
def export(archive: str, names: tuple[str, ...], prefix: str, busybox: str | None) -> None:
    """Write images to FILE, an OCI archive that ctr, skopeo and podman read."""
    from refimpl.images.archive import write_archive
    from refimpl.images.shelf import Shelf

    shelf = Shelf(program(busybox))
    if unknown := [name for name in names if name not in shelf]:
        raise Usage(f"there is no image {', '.join(unknown)}; `refimpl images list` names them")
    chosen = names or tuple(shelf)
    images = {f"{prefix}/{name}": shelf[name] for name in chosen}
    try:
        write_archive(Path(archive), images)
    except OSError as error:
        raise Usage(f"{archive}: {error.strerror}") from None
    click.echo(f"{len(images)} image{'s' * (len(images) != 1)} in {archive}")
