"""A network configuration as a document: JSON, names, versions, flags, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.cni.needs import DIRECTORY, READ
from conformance.engine.case import case

if TYPE_CHECKING:
    from conformance.cni.networks.documents import Documents


@case("CNI-CFG-001", "CNI 1.1 network configuration format; RFC 8259")
def test_a_document_is_an_object_that_all_readers_take_alike(documents: Documents) -> None:
    """One comment or comma too many keeps the network, and with containerd every network of the
    directory, from being loaded. Of a repeated key each reader picks another one.
    """
    documents.keep("CNI-CFG-001")


@case("CNI-CFG-002", "CNI 1.1 network configuration format, name", needs=[READ])
def test_a_network_name_can_be_part_of_a_file_name(documents: Documents) -> None:
    """Caches and stores are named after the network: a separator in it leads somewhere else."""
    documents.keep("CNI-CFG-002")


@case("CNI-CFG-003", "practice: file names have at most 255 bytes", needs=[READ])
def test_a_network_name_leaves_room_for_container_and_interface(documents: Documents) -> None:
    """The result is cached in a file named after all three; where it cannot be written, the
    container is attached and the runtime says that it failed.
    """
    documents.keep("CNI-CFG-003")


@case(
    "CNI-CFG-004",
    "CNI 1.1 network configuration format, name",
    needs=[DIRECTORY, READ],
)
def test_a_network_name_is_used_once_in_a_directory(documents: Documents) -> None:
    """CRI-O takes the first of two networks with one name, nerdctl the last, and both share the
    addresses that are kept under that name.
    """
    documents.keep("CNI-CFG-004")


@case("CNI-CFG-005", "practice: no cniVersion means 0.1.0", needs=[READ])
def test_a_document_says_its_version(documents: Documents) -> None:
    """Without it plugins are called as in 2016: one address, no interfaces, no chain, no CHECK."""
    documents.keep("CNI-CFG-005")


@case("CNI-CFG-006", "CNI 1.1 network configuration format, cniVersion", needs=[READ])
def test_the_version_is_one_of_the_specification(documents: Documents) -> None:
    """Plugins refuse a version they do not list, so that no container gets this network."""
    documents.keep("CNI-CFG-006")


@case("CNI-CFG-007", "CNI 1.1 network configuration format, cniVersions", needs=[READ])
def test_the_list_of_versions_has_all_that_are_offered(documents: Documents) -> None:
    """Runtimes choose the highest version they know from it; what is no version ends the load."""
    documents.keep("CNI-CFG-007")


@case("CNI-CFG-008", "CNI 1.1 network configuration format, cniVersions", needs=[READ])
def test_a_list_of_versions_offers_one_that_has_such_lists(documents: Documents) -> None:
    """A runtime from before 1.1.0 skips the key, so a list of older versions has no reader."""
    documents.keep("CNI-CFG-008")


@case("CNI-CFG-009", "CNI 1.1 network configuration format", needs=[READ])
def test_flags_are_true_or_false(documents: Documents) -> None:
    """Only libcni understands "true" in quotes; anything else stops even that."""
    documents.keep("CNI-CFG-009")


@case("CNI-CFG-010", "CNI 1.1 network configuration format, disableCheck", needs=[READ])
def test_flags_stand_in_the_list_and_in_no_plugin(documents: Documents) -> None:
    """Runtimes look for them beside the name. In a plugin object, or in a document that is one,
    they change nothing: CHECK goes on failing (ocicni#74).
    """
    documents.keep("CNI-CFG-010")


@case("CNI-CFG-032", "practice: loaders go by the extension", needs=[READ])
def test_lists_are_in_conflist_files_and_single_plugins_are_not(documents: Documents) -> None:
    """A loader reads a .conf as one plugin and finds no type in a list, and the other way round."""
    documents.keep("CNI-CFG-032")


@case("CNI-CFG-033", "CNI 1.0.0: single-plugin documents are gone", needs=[READ])
def test_a_single_plugin_claims_no_version_of_lists_only(documents: Documents) -> None:
    """Runtimes still wrap a single plugin for the sake of old files; new ones need not rely on
    that, and such a file can be given no flag and no second plugin.
    """
    documents.keep("CNI-CFG-033")


@case("CNI-CFG-036", "practice: libcni reads numbers as float64", needs=[READ])
def test_numbers_reach_the_plugin_as_they_are_written(documents: Documents) -> None:
    """An integer beyond 2^53 arrives as its neighbour, and 1.0 as 1."""
    documents.keep("CNI-CFG-036")


@case("CNI-CFG-037", "RFC 8259: names are compared exactly", needs=[READ])
def test_keys_are_in_their_own_letter_case(documents: Documents) -> None:
    """Plugins and runtimes in Go take any letter case; every other reader misses the key, and
    the network works on one node and not on the next.
    """
    documents.keep("CNI-CFG-037")
