"""Who a container runs as, by its configuration, its image and the image's own tables of users
(passwd(5), group(5); CRI LinuxContainerSecurityContext)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

__all__ = ["User", "user_of"]

_LARGEST = (1 << 31) - 1


@attrs.frozen
class User:
    """groups: the further ones; the primary group is among them, as in both runtimes."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


@attrs.frozen
class _Account:
    name: str
    uid: int
    gid: int


@attrs.frozen
class _Group:
    name: str
    gid: int
    members: frozenset[str]


def user_of(context: Any, image_user: str, passwd: str, group: str) -> User:
    """context: of the container. image_user: as the image has it. passwd, group: the texts of
    these files, empty where there are none. INVALID_ARGUMENT for a name that the image does not
    know."""
    accounts, groups = [*_accounts(passwd)], [*_groups(group)]
    named, _, named_group = _asked(context, image_user).partition(":")
    account = _account(named, accounts)
    gid = account.gid
    if context.HasField("run_as_group"):
        gid = context.run_as_group.value
    elif named_group:
        gid = _gid(named_group, groups)
    more = list(context.supplemental_groups)
    if context.supplemental_groups_policy == pb.Strict:
        return User(account.uid, gid, _unique([gid, *more]))
    listed = [each.gid for each in groups if account.name and account.name in each.members]
    return User(account.uid, gid, _unique([gid, *listed, *more]))


def _asked(context: Any, image_user: str) -> str:
    """The container's own word on the user takes the image's group with it."""
    if context.HasField("run_as_user"):
        return str(context.run_as_user.value)
    return str(context.run_as_username or image_user)


def _account(named: str, accounts: Iterable[_Account]) -> _Account:
    """By name or number; a number need not be in the table, and has group 0 then."""
    for each in accounts:
        if named in (each.name, str(each.uid)) or (not named and each.uid == 0):
            return each
    if named and not named.isdecimal():
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"the image has no user {named!r} in /etc/passwd: name one that it has, or a number",
        )
    uid = int(named or 0)
    if uid > _LARGEST:
        raise Refused(Code.INVALID_ARGUMENT, f"user {uid} is no id: the largest is {_LARGEST}")
    return _Account("", uid, 0)


def _gid(named: str, groups: Iterable[_Group]) -> int:
    if named.isdecimal():
        return int(named)
    for each in groups:
        if each.name == named:
            return each.gid
    raise Refused(Code.INVALID_ARGUMENT, f"the image has no group {named!r} in /etc/group")


def _accounts(text: str) -> Iterator[_Account]:
    for fields in _lines(text, 4):
        if fields[2].isdecimal() and fields[3].isdecimal():
            yield _Account(fields[0], int(fields[2]), int(fields[3]))


def _groups(text: str) -> Iterator[_Group]:
    for fields in _lines(text, 3):
        if fields[2].isdecimal():
            members = fields[3].split(",") if len(fields) > 3 else ()
            yield _Group(fields[0], int(fields[2]), frozenset(filter(None, members)))


def _lines(text: str, least: int) -> Iterator[list[str]]:
    for line in text.splitlines():
        fields = line.strip().split(":")
        if len(fields) >= least and not line.startswith("#"):
            yield fields


def _unique(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))
