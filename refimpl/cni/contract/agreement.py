"""Members of a result that must agree with one another, in a decoded JSON value."""

from __future__ import annotations

from refimpl.cni.contract.addresses import family
from refimpl.cni.contract.problem import Kind, Problem, is_integer, wanted
from refimpl.cni.contract.shapes import members

__all__ = ["disagreements"]


def disagreements(value: dict[str, object], version: str) -> list[Problem]:
    """Indexes without an interface, and IPv4 beside IPv6, in a value that should be a result.

    A member that has a wrong form by itself is passed over.
    """
    problems: list[Problem] = []
    defined = members("result", version)
    if "ip4" in defined:
        for name in ("ip4", "ip6"):
            _flat(value.get(name), name, problems)
        return problems
    interfaces = value.get("interfaces")
    count = len(interfaces) if isinstance(interfaces, list) else 0
    # Where the interfaces are no array at all, an index cannot be judged.
    countable = interfaces is None or isinstance(interfaces, list)
    typed = "version" in members("address", version)
    for at, address in _objects(value.get("ips"), "/ips"):
        _same_family(address, "gateway", "address", at, problems)
        _declared(address if typed else {}, at, problems)
        index = address.get("interface")
        if countable and is_integer(index) and index >= count:
            text = wanted(f"an index below {count}, the number of interfaces", index)
            problems.append(Problem(f"{at}/interface", text, Kind.INDEX))
    for at, route in _objects(value.get("routes"), "/routes"):
        _same_family(route, "gw", "dst", at, problems)
    return problems


def _flat(value: object, name: str, problems: list[Problem]) -> None:
    if not isinstance(value, dict):
        return
    right = int(name[-1])
    _of_family(value, "ip", right, f"/{name}", problems)
    _of_family(value, "gateway", right, f"/{name}", problems)
    for at, route in _objects(value.get("routes"), f"/{name}/routes"):
        _of_family(route, "dst", right, at, problems)
        _of_family(route, "gw", right, at, problems)


def _objects(value: object, at: str) -> list[tuple[str, dict[str, object]]]:
    elements = enumerate(value) if isinstance(value, list) else ()
    return [(f"{at}/{n}", each) for n, each in elements if isinstance(each, dict)]


def _family(value: object) -> int | None:
    return family(value) if isinstance(value, str) else None


def _same_family(
    value: dict[str, object], name: str, like: str, at: str, problems: list[Problem]
) -> None:
    right = _family(value.get(like))
    if right is not None:
        _of_family(value, name, right, at, problems)


def _of_family(
    value: dict[str, object], name: str, right: int, at: str, problems: list[Problem]
) -> None:
    if _family(value.get(name)) not in (None, right):
        text = wanted(f"an IPv{right} address like those around it", value[name])
        problems.append(Problem(f"{at}/{name}", text, Kind.FAMILY))


def _declared(value: dict[str, object], at: str, problems: list[Problem]) -> None:
    right = _family(value.get("address"))
    if right is not None and value.get("version") in ("4", "6") and value["version"] != str(right):
        text = wanted(f"{str(right)!r}, the family of the address", value["version"])
        problems.append(Problem(f"{at}/version", text, Kind.FAMILY))
