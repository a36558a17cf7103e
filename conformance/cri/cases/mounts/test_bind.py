"""Mounts of paths of the node."""

from __future__ import annotations

from conformance.cri.needs import HOST, IMAGE
from conformance.cri.node import folder, mount, said, worked
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.wire.status import Refused


@case("CRI-MT-001", "CRI v1 Mount.host_path, container_path", needs=[IMAGE, HOST])
def test_a_folder_of_the_node_is_seen_and_written(cri: CriTarget) -> None:
    """What a container leaves in a volume is there when it is gone."""
    data = folder(cri)
    (data / "in").write_text("from the node")
    container = cri.pods.shared().run(mounts=[mount(data)])
    seen = said(container, "cat", "/data/in")
    expect(seen == "from the node", "its files are seen", wanted="from the node", got=seen)
    worked(container, "echo inside > /data/out")
    out = data / "out"
    left = out.read_text() if out.exists() else "no file"
    expect(left == "inside\n", "what is written is on the node", wanted="inside\n", got=left)


@case("CRI-MT-002", "kubelet: /etc/hosts, the termination log, subPath", needs=[IMAGE, HOST])
def test_a_file_of_the_node_is_seen_and_written(cri: CriTarget) -> None:
    """Kubelet mounts single files into each container."""
    file = folder(cri) / "file"
    file.write_text("from the node")
    file.chmod(0o666)
    container = cri.pods.shared().run(mounts=[mount(file, "/etc/of-the-node")])
    seen = said(container, "cat", "/etc/of-the-node")
    expect(seen == "from the node", "its content is seen", wanted="from the node", got=seen)
    worked(container, "echo inside > /etc/of-the-node")
    left = file.read_text()
    expect(left == "inside\n", "what is written is on the node", wanted="inside\n", got=left)


@case("CRI-MT-003", "CRI v1 Mount.host_path: a symlink is followed", needs=[IMAGE, HOST])
def test_a_link_is_followed_to_what_it_leads_to(cri: CriTarget) -> None:
    """/var/run is one on most machines."""
    data = folder(cri)
    (data / "real").mkdir()
    (data / "real" / "in").write_text("behind the link")
    (data / "link").symlink_to(data / "real")
    container = cri.pods.shared().run(mounts=[mount(data / "link")])
    seen = said(container, "cat", "/data/in")
    expect(seen == "behind the link", "its files are seen", wanted="behind the link", got=seen)


@case("CRI-MT-004", "CRI v1 Mount.host_path: an error if it does not exist", needs=[IMAGE, HOST])
def test_a_path_that_the_node_has_not_got_is_refused(cri: CriTarget) -> None:
    """An empty folder in its place would be taken for the data (D49: both runtimes make one)."""
    missing = folder(cri) / "missing"
    expect_refusal(
        lambda: cri.pods.shared().run(mounts=[mount(missing)]), "a host_path that does not exist"
    )
    expect(not missing.exists(), "nothing is made there", wanted="no folder", got=str(missing))


@case("CRI-MT-005", "CRI v1 Mount.readonly", needs=[IMAGE, HOST])
def test_nothing_is_written_to_a_read_only_mount(cri: CriTarget) -> None:
    """Secrets and configurations are mounted so."""
    data = folder(cri)
    (data / "in").write_text("from the node")
    container = cri.pods.shared().run(mounts=[mount(data, readonly=True)])
    seen = said(container, "cat", "/data/in")
    expect(seen == "from the node", "its files are seen", wanted="from the node", got=seen)
    wrote = worked(container, "touch /data/new")
    there = wrote or (data / "new").exists()
    expect(not there, "a write fails", wanted="Read-only file system", got="a file")


@case("CRI-MT-006", "CRI v1 Mount.host_path: empty only beside image", needs=[IMAGE])
def test_a_mount_of_nothing_is_refused(cri: CriTarget) -> None:
    """There is nothing that could be mounted."""
    expect_refusal(lambda: cri.pods.shared().run(mounts=[mount("")]), "neither host_path nor image")


@case("CRI-MT-007", "CRI v1 Mount.container_path", needs=[IMAGE, HOST])
def test_a_mount_to_nowhere_is_refused(cri: CriTarget) -> None:
    """By CreateContainer, or when it is started."""
    data = folder(cri)
    expect_refusal(lambda: cri.pods.shared().run(mounts=[mount(data, "")]), "no container_path")


@case("CRI-MT-008", "kubelet: mounts come in the order of the pod's volumes", needs=[IMAGE, HOST])
def test_a_mount_in_a_mount_is_seen_whatever_their_order(cri: CriTarget) -> None:
    """A volume at /a/b, and one at /a that comes after it."""
    outer, inner = folder(cri), folder(cri)
    for path in (outer, inner):
        (path / "which").write_text(path.name)
    mounts = [mount(inner, "/a/b"), mount(outer, "/a")]
    container = cri.pods.shared().run(mounts=mounts)
    seen = [said(container, "cat", path) for path in ("/a/which", "/a/b/which")]
    wanted = [outer.name, inner.name]
    expect(seen == wanted, "each is at its path", wanted=wanted, got=seen)


@case("CRI-MT-009", "kubelet: its own /etc/hosts and /etc/resolv.conf", needs=[IMAGE, HOST])
def test_a_mount_is_over_what_the_runtime_puts_there(cri: CriTarget) -> None:
    """hostAliases of a pod are in such a file."""
    data = folder(cri)
    config = cri.pods.config()
    config.dns_config.servers.append("10.96.0.10")
    pod = cri.pods.ask(config)
    paths = ("/etc/hosts", "/etc/resolv.conf")
    for path in paths:
        (data / path.rpartition("/")[2]).write_text(f"# {path} of the pod\n")
    mounts = [mount(data / path.rpartition("/")[2], path) for path in paths]
    container = pod.run(mounts=mounts)
    with together() as check:
        for path in paths:
            with check:
                seen, wanted = said(container, "cat", path), f"# {path} of the pod\n"
                expect(seen == wanted, f"{path} is what is mounted", wanted=wanted, got=seen)


@case("CRI-MT-010", "robustness: two mounts at one path", needs=[IMAGE, HOST])
def test_of_two_mounts_at_one_path_the_later_one_counts(cri: CriTarget) -> None:
    """Or they are refused; the runtime goes on in any case."""
    first, second = folder(cri), folder(cri)
    for path in (first, second):
        (path / "which").write_text(path.name)
    pod = cri.pods.shared()
    try:
        container = pod.run(mounts=[mount(first), mount(second)])
    except Refused:
        expect(cri.kubelet.version(), "the runtime still answers", wanted="a version", got="none")
        return
    seen = said(container, "cat", "/data/which")
    expect(seen == second.name, "the later one is seen", wanted=second.name, got=seen)
