"""What a client makes of what a plugin says of itself (REG)."""

from __future__ import annotations

from conformance.deviceplugin.registry import OPTIONS, refused, registered
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin

SOURCE = "plugin registration v1: GetInfo"
WATCHES = Feature("watcher")
COUNTER = "kubelet_device_plugin_registration_total"

BAD_NAMES = (
    "no-domain",
    "sub.kubernetes.io/dev",
    "requests.example.com/dev",
    "Upper.example.com/dev",
    "example.com/-dev",
    f"example.com/{'d' * 64}",
)


def _found(node: NodeUnderTest, *versions: str, type: str = "DevicePlugin") -> ScriptedPlugin:
    plugin = node.plugin(watched=True)
    plugin.registration.type, plugin.registration.versions = type, versions
    return plugin.serve()


@case("REG-009", SOURCE, needs=[WATCHES])
def test_a_plugin_of_an_unknown_type_is_told_so(node: NodeUnderTest) -> None:
    """A driver that is newer than the node would otherwise wait without a word."""
    plugin = _found(node, "v1", type="ToasterPlugin")
    refused(node, plugin, "there is no type ToasterPlugin")


@case("REG-010", SOURCE, needs=[WATCHES])
def test_one_version_that_is_known_among_others_is_enough(node: NodeUnderTest) -> None:
    """A plugin that serves kubelets of several releases names all that it speaks, as SR-IOV's
    does."""
    registered(node, _found(node, "v1alpha1", "v1beta1"))


@case("REG-011", SOURCE, needs=[WATCHES])
def test_a_device_plugin_without_a_version_that_is_known_is_refused(node: NodeUnderTest) -> None:
    """Taken in, it would be called with messages that it does not understand."""
    plugins = {versions: _found(node, *versions) for versions in (("v1alpha1",), ())}
    with together() as check:
        for versions, plugin in plugins.items():
            with check:
                refused(node, plugin, f"versions {list(versions)}")


@case("REG-012", SOURCE, needs=[WATCHES])
def test_a_device_plugin_with_an_invalid_resource_name_is_refused(node: NodeUnderTest) -> None:
    """No pod could ever ask for it, and those of kubernetes.io are not a vendor's."""
    plugins = [node.plugin(name, watched=True).serve() for name in BAD_NAMES]
    with together() as check:
        for plugin in plugins:
            with check:
                refused(node, plugin, f"resource name {plugin.resource!r}")


@case("REG-013", SOURCE, needs=[WATCHES])
def test_without_an_endpoint_the_service_is_at_the_socket_that_was_found(
    node: NodeUnderTest,
) -> None:
    """Most plugins serve both at one socket and say nothing of it."""
    plugin = node.join(node.plugin(watched=True), "a", "b")
    registered(node, plugin)
    expect(
        len(plugin.calls(OPTIONS)) == 1 and plugin.streams == 1,
        "the service is dialled at the same socket",
        wanted="options asked for, one ListAndWatch",
        got=plugin.order,
    )


@case("REG-014", SOURCE, needs=[WATCHES])
def test_an_endpoint_elsewhere_is_where_the_service_is_dialled(node: NodeUnderTest) -> None:
    """A registrar beside the driver, as CSI has it, registers a socket that is not its own."""
    driver = node.plugin()
    driver.path = node.client.folder / f"away-{driver.path.name}"
    driver.send("a")
    driver.serve()
    registrar = node.plugin(driver.resource, watched=True, main=str(driver.path))
    registrar.serve()
    registered(node, registrar)
    with together() as check:
        with check:
            node.until(
                lambda: node.podresources.allocatable(driver.resource) == {"a"},
                "the driver's list is taken in",
            )
        with check:
            expect(
                not registrar.calls(OPTIONS) and driver.streams == 1,
                "only the endpoint that was named is called",
                wanted="calls to the driver",
                got=f"registrar: {registrar.order}, driver: {driver.order}",
            )


@case("REG-031", SOURCE, needs=[WATCHES])
def test_a_device_plugin_with_versions_in_the_style_of_csi_is_refused(node: NodeUnderTest) -> None:
    """Each type has versions of its own: 1.0.0 is one of CSI's."""
    refused(node, _found(node, "1.0.0"), "versions ['1.0.0']")


@case("REG-034", "kubelet 1.37: metrics", needs=[WATCHES, Feature("metrics")])
def test_a_plugin_that_was_found_does_not_count_as_a_registration(node: NodeUnderTest) -> None:
    """Whoever alerts on this number learns of plugins that register themselves only."""
    watched = node.plugin(watched=True)
    watched.serve()
    registered(node, watched)
    with together() as check:
        with check:
            expect(
                _counted(node, watched) == 0,
                "it is not counted",
                wanted=0,
                got=_counted(node, watched),
            )
        pushed = node.plugin(watched.resource).serve()
        pushed.register(node.plugins)
        with check:
            node.until(lambda: _counted(node, watched) == 1, "one that calls Register is counted")


def _counted(node: NodeUnderTest, plugin: ScriptedPlugin) -> float:
    metrics = node.client.metrics().items()
    mine = [
        value for name, value in metrics if name.startswith(COUNTER) and plugin.resource in name
    ]
    return sum(mine)
