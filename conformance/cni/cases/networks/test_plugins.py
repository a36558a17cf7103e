"""The plugin objects of a network configuration, and the list they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.cni.needs import INSTALLED, READ
from conformance.engine.case import case

if TYPE_CHECKING:
    from conformance.cni.networks.documents import Documents

_OBJECTS = "CNI 1.1 plugin configuration objects"


@case("CNI-CFG-011", "CNI 1.1 network configuration format, plugins", needs=[READ])
def test_a_network_has_plugins(documents: Documents) -> None:
    """A network of none cannot be loaded, and hides those that are found after it."""
    documents.keep("CNI-CFG-011")


@case(
    "CNI-CFG-012",
    "CNI 1.1 network configuration format, loadOnlyInlinedPlugins",
    needs=[READ],
)
def test_a_network_of_inlined_plugins_only_has_some(documents: Documents) -> None:
    """The flag shuts the network's directory out, so nobody else can supply a plugin."""
    documents.keep("CNI-CFG-012")


@case(
    "CNI-CFG-013",
    "CNI 1.1 network configuration format, loadOnlyInlinedPlugins",
    needs=[READ],
)
def test_the_directory_of_a_network_holds_plugins_that_are_used(documents: Documents) -> None:
    """Whoever put a file there wants it to be run. With another extension it is not, and one that
    is no plugin keeps the whole network from being loaded.
    """
    documents.keep("CNI-CFG-013")


@case("CNI-CFG-014", "practice: libcni appends in the order of names", needs=[READ])
def test_plugins_of_the_directory_run_in_the_order_of_their_numbers(documents: Documents) -> None:
    """Names sort as text, so 10-x runs before 9-y. `refimpl cni lint` tells the order of every
    network that has such a directory.
    """
    documents.keep("CNI-CFG-014")


@case("CNI-CFG-015", f"{_OBJECTS}, type", needs=[READ])
def test_a_plugin_type_is_the_name_of_a_file(documents: Documents) -> None:
    """Runtimes look for that file in CNI_PATH and refuse what leads out of it."""
    documents.keep("CNI-CFG-015")


@case(
    "CNI-CFG-016",
    "CNI 1.1 execution protocol, CNI_PATH",
    needs=[READ, INSTALLED],
)
def test_every_plugin_that_is_named_is_installed(documents: Documents) -> None:
    """Loading goes well without it; the first container that wants the network fails."""
    documents.keep("CNI-CFG-016")


@case("CNI-CFG-017", "CNI 1.1 version considerations", needs=[READ])
def test_every_plugin_knows_the_version_of_its_network(documents: Documents) -> None:
    """A plugin refuses other versions with code 1, at the latest when a container starts. With
    --cni-path the plugins are asked, else it is judged by what is known of the reference plugins.
    """
    documents.keep("CNI-CFG-017")


@case("CNI-CFG-018", f"{_OBJECTS}, reserved keys", needs=[READ])
def test_keys_of_the_runtime_are_left_to_it(documents: Documents) -> None:
    """What is written here is overwritten by one runtime, dropped by the next, and sent to the
    plugin by a third as if it were the state of a container.
    """
    documents.keep("CNI-CFG-018")


@case("CNI-CFG-019", "CNI 1.1 plugin configuration objects, capabilities", needs=[READ])
def test_capabilities_are_declared_by_names_that_runtimes_know(documents: Documents) -> None:
    """A runtime passes values for the names it knows and is silent about all others: with
    "portMapping" for "portMappings" no port is ever mapped.
    """
    documents.keep("CNI-CFG-019")


@case("CNI-CFG-020", "CNI 1.1 deriving runtimeConfig", needs=[READ])
def test_a_plugin_that_lives_on_a_capability_declares_it(documents: Documents) -> None:
    """portmap without the capability "portMappings" runs at every start and does nothing."""
    documents.keep("CNI-CFG-020")


@case("CNI-CFG-021", "CNI 1.1 deriving request configuration", needs=[READ])
def test_a_plugin_object_names_no_other_network_or_version(documents: Documents) -> None:
    """The values of the list are sent in their place, so these only mislead who reads them."""
    documents.keep("CNI-CFG-021")


@case("CNI-CFG-022", f"{_OBJECTS}, ipam", needs=[READ])
def test_ipam_is_an_object_with_a_type(documents: Documents) -> None:
    """The plugin runs the file of that name for the addresses, as the runtime ran the plugin."""
    documents.keep("CNI-CFG-022")


@case("CNI-CFG-023", "practice: what host-local refuses", needs=[READ])
def test_address_ranges_are_such_that_addresses_can_be_given_out(documents: Documents) -> None:
    """The plugin looks at them when the first container starts, and fails then."""
    documents.keep("CNI-CFG-023")


@case("CNI-CFG-024", "practice: a 0.2.0 result has one address a family", needs=[READ])
def test_old_versions_are_asked_for_one_address_of_a_family(documents: Documents) -> None:
    """What does not fit into the result of the version is refused after it was reserved."""
    documents.keep("CNI-CFG-024")


@case("CNI-CFG-025", "CNI 1.1 ADD success, routes", needs=[READ])
def test_routes_are_such_that_the_kernel_takes_them(documents: Documents) -> None:
    """A destination without a prefix length, a gateway of the other family or the same route
    twice fails in the middle of an ADD.
    """
    documents.keep("CNI-CFG-025")


@case("CNI-CFG-041", "practice: Linux takes an IPv4 route to a network only", needs=[READ])
def test_a_destination_of_a_route_is_a_network(documents: Documents) -> None:
    """10.1.2.3/8 is a valid CIDR, so loaders and plugins take it; the kernel refuses the route when
    the first container starts. Of IPv6 it clears the bits, and the route is wider than it reads.
    """
    documents.keep("CNI-CFG-041")


@case("CNI-CFG-026", "CNI 1.1 ADD success, routes", needs=[READ])
def test_routes_have_what_their_version_knows(documents: Documents) -> None:
    """mtu, advmss, priority, table and scope came with 1.1.0; older plugins drop them silently."""
    documents.keep("CNI-CFG-026")


@case("CNI-CFG-027", "CNI 1.1 plugin configuration objects, dns", needs=[READ])
def test_dns_has_addresses_of_servers_and_lists_of_names(documents: Documents) -> None:
    """It ends up in the resolv.conf of containers, where a name of a server resolves nothing."""
    documents.keep("CNI-CFG-027")


@case("CNI-CFG-028", f"{_OBJECTS}, ipMasq", needs=[READ])
def test_masquerading_is_true_or_false(documents: Documents) -> None:
    """Plugins cannot decode anything else and refuse the whole document."""
    documents.keep("CNI-CFG-028")


@case("CNI-CFG-029", "practice: what the chained reference plugins need", needs=[READ])
def test_the_first_plugin_is_one_that_makes_an_attachment(documents: Documents) -> None:
    """portmap, tuning, firewall, bandwidth, sbr and vrf change what a plugin before them made, and
    fail where there is none.
    """
    documents.keep("CNI-CFG-029")


@case("CNI-CFG-030", "practice: one CNI_IFNAME for a list", needs=[READ])
def test_one_plugin_of_a_list_makes_the_interface(documents: Documents) -> None:
    """All plugins of a list are given the same interface name; the second finds it taken."""
    documents.keep("CNI-CFG-030")


@case("CNI-CFG-031", "practice: sbr moves routes that others check", needs=[READ])
def test_check_is_off_where_sbr_moves_the_routes(documents: Documents) -> None:
    """CHECK of the plugin before it misses its routes in the main table. CRI-O asks for CHECK all
    the time and takes the sandbox for broken.
    """
    documents.keep("CNI-CFG-031")
