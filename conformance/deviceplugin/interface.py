"""Device plugins, their registration and pod resources as the engine and the command know them."""

from __future__ import annotations

from conformance.engine.interface import COMMAND, FAKES, Interface, Option, Scheme

__all__ = ["DEVICEPLUGIN"]

_CLIENT = ("DP-KUB-*", "PR-*", "REG-00?", "REG-01[!5]", "REG-02[!9]", "REG-03[!0]", "TM-*")
_PLUGIN = ("DP-PLG-*", "REG-015", "REG-029", "REG-030")
_SOCKET = ("PR-*",)

DEVICEPLUGIN = Interface(
    name="deviceplugin",
    package="conformance.deviceplugin",
    title="Device plugins, plugin registration, pod resources: plugins and kubelets",
    heading="Device plugin",
    subject="a device plugin",
    prefixes=("DP", "PR", "REG", "TM"),
    catalogues=("deviceplugin", "registration", "podresources"),
    clients_judged=_CLIENT,
    family="kubernetes",
    revisions=tuple(f"1.{minor}" for minor in range(27, 38)),
    targets={
        **{
            name: Scheme(shown="fake" if name == "fake" else "", judges=(*_PLUGIN, *_CLIENT))
            for name in FAKES
        },
        COMMAND: Scheme(
            shown="-- COMMAND --plugin-directory {device-plugins}, which we start",
            judges=_PLUGIN,
            placeholders=(
                *("kubelet", "device-plugins", "registry", "cdi"),
                *("dir", "node", "resource"),
            ),
        ),
    },
    clients={
        **{name: Scheme(shown="fake" if name == "fake" else "", judges=_CLIENT) for name in FAKES},
        COMMAND: Scheme(
            shown="-- COMMAND, such as kubelet --config {config}",
            judges=_CLIENT,
            placeholders=(
                *("config", "kubeconfig", "kubelet", "runtime"),
                *("device-plugins", "registry", "dir", "node"),
            ),
        ),
        "unix": Scheme(shown="unix:///var/lib/kubelet/pod-resources/kubelet.sock", judges=_SOCKET),
    },
    settings="conformance.deviceplugin.settings:DpSettings",
    opener="conformance.deviceplugin.target:open_target",
    waits=True,
    fakes={
        "deviceplugin": "refimpl.deviceplugin.fake:FakePlugin",
        "kubelet": "refimpl.deviceplugin.kubelet:FakeKubelet",
    },
    preload=(
        "conformance.deviceplugin.target",
        "conformance.deviceplugin.plugins.opening",
        "conformance.kubelet.ours",
    ),
    options=(
        Option(
            flag="dp-resource",
            field="resource",
            metavar="NAME",
            text="Resource to judge.  [the first that the plugin registers]",
        ),
        Option(
            flag="dp-illusion",
            field="illusion",
            text="Show the plugin its folder at /var/lib/kubelet.  [auto: without a placeholder of"
            " kubelet's folders in COMMAND]",
            choices=("auto", "always", "never"),
        ),
    ),
)
