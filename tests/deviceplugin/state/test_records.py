"""Who holds which devices: found by pod, whatever other pods hold (PR-028)."""

from __future__ import annotations

from refimpl.deviceplugin.state.records import DeviceRecord, Records


def record(pod: str, container: str, resource: str, *ids: str) -> DeviceRecord:
    return DeviceRecord(pod, container, resource, {0: ids})


def test_records_are_found_by_pod_and_container() -> None:
    """Each in the order in which it was made; what others hold is not looked at."""
    records = Records()
    kept = [
        record(f"pod-{pod}", container, resource, f"{pod}-{container}-{resource}")
        for pod in range(50)
        for container in ("main", "sidecar")
        for resource in ("x/b", "x/a")
    ]
    for each in kept:
        records.put(each)
    assert list(records) == kept
    assert records.of_pod("pod-7") == tuple(kept[28:32])
    assert records.of_container("pod-7", "sidecar") == tuple(kept[30:32])
    assert records.get("pod-7", "main", "x/a") is kept[29]
    assert records.pod_ids("pod-7", "x/a") == {"7-main-x/a", "7-sidecar-x/a"}
    assert records.pods() == {f"pod-{pod}" for pod in range(50)}


def test_a_pod_without_records_has_none() -> None:
    """Asking for it does not make it a pod with records, which would be collected."""
    records = Records()
    assert records.of_pod("pod") == records.of_container("pod", "main") == ()
    assert records.get("pod", "main", "x/a") is None
    assert records.pods() == set()


def test_a_record_takes_the_place_of_its_predecessor() -> None:
    """The same pod, container and resource: there is never more than one."""
    records = Records()
    records.put(record("pod", "main", "x/a", "1"))
    records.put(record("pod", "main", "x/b", "2"))
    again = record("pod", "main", "x/a", "3")
    records.put(again)
    assert records.of_container("pod", "main") == (again, record("pod", "main", "x/b", "2"))
    assert records.in_use() == {"x/a": {"3"}, "x/b": {"2"}}


def test_dropped_pods_leave_the_others_alone() -> None:
    """One that holds nothing may be dropped as well."""
    records = Records()
    for pod in "abc":
        records.put(record(pod, "main", "x/a", pod))
    records.drop(["a", "c", "nobody"])
    assert list(records) == [record("b", "main", "x/a", "b")]
    assert records.holders("x/a") == records.holders(None) == {"b": "b"}
    assert records.holders("x/b") == {}
