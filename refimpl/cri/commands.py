"""What a container runs, where, and with which variables: its configuration over its image's."""

from __future__ import annotations

from refimpl.cri.state.models import Container

__all__ = ["command_of", "environment_of", "folder_of"]


def command_of(container: Container) -> list[str]:
    """CRI: command replaces the entrypoint and with it the image's arguments; args replace those
    alone. Empty where neither names one."""
    config, image = container.config, container.image
    if config is None:
        return [*image.entrypoint, *image.command]
    if config.command:
        return [*config.command, *config.args]
    return [*image.entrypoint, *(config.args or image.command)]


def environment_of(container: Container) -> dict[str, str]:
    """The image's variables, over them the container's; of one that is there twice the last. Bytes
    that are no UTF-8 are as in `os.fsdecode`."""
    env = {name: value for name, _, value in (each.partition("=") for each in container.image.env)}
    own = container.config.envs if container.config is not None else ()
    return env | {each.key: each.value.decode(errors="surrogateescape") for each in own}


def folder_of(container: Container) -> str:
    """Where its processes begin, as it says itself or its image does; the root by default."""
    own = container.config.working_dir if container.config is not None else ""
    return own or container.image.workdir or "/"
