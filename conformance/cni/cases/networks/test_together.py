"""A directory of network configurations: what is loaded from it, who may write, who shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.cni.needs import DIRECTORY, READ
from conformance.engine.case import case

if TYPE_CHECKING:
    from conformance.cni.networks.documents import Documents


@case("CNI-CFG-034", "practice: loaders read *.conflist, *.conf and *.json")
def test_what_looks_like_a_network_is_loaded_as_one(documents: Documents) -> None:
    """Loaders pass over .CONFLIST and .yaml without a word, and over a directory of such a name;
    a hidden file they do load, before all others.
    """
    documents.keep("CNI-CFG-034")


@case("CNI-CFG-035", "practice: the first file by name is the default", needs=[DIRECTORY])
def test_the_first_file_is_the_one_to_be_the_default(documents: Documents) -> None:
    """containerd and CRI-O give containers the network that sorts first as text: 10-a before 9-b,
    and a loopback if that is the first.
    """
    documents.keep("CNI-CFG-035")


@case("CNI-CFG-038", "practice: plugins run as root")
def test_root_alone_can_change_what_runs_as_root(documents: Documents) -> None:
    """Whoever may write a configuration, its directory or that of the plugins decides what every
    start of a container runs as root.
    """
    documents.keep("CNI-CFG-038")


@case("CNI-CFG-039", "practice: host-local keeps <dataDir>/<name>", needs=[READ])
def test_networks_do_not_give_out_the_same_addresses(documents: Documents) -> None:
    """Two networks with overlapping ranges give one address to two containers; with one store they
    free each other's.
    """
    documents.keep("CNI-CFG-039")


@case("CNI-CFG-040", "the rules above, as a property", needs=[READ])
def test_any_single_mistake_in_these_documents_would_be_found(documents: Documents) -> None:
    """Written anew, sound documents have no other findings than before, and each of many mistakes
    made in a copy of them yields its own: their findings can be trusted, and so can their silence.
    A failure here is one of refimpl, not of the documents.
    """
    from conformance.cni.networks import lint_mutations

    chosen = lint_mutations.chosen(documents)
    if not chosen:
        pytest.skip("no document is without errors, and errors hide others")
    for network in chosen:
        lint_mutations.watch(documents, network)
