"""CSI as the engine and the command know it; the options are csi-sanity's, by the names its users
have in their scripts."""

from __future__ import annotations

from conformance.engine.interface import COMMAND, FAKES, Interface, Option, Scheme

__all__ = ["CSI"]

_DRIVER = ("CSI-*",)
_SERVED = {
    "unix": "unix:///run/csi/csi.sock, or the path alone",
    "tcp": "tcp://host:port",
    "dns": "dns:///name:port",
}

CSI = Interface(
    name="csi",
    package="conformance.csi",
    title="Container Storage Interface drivers",
    heading="CSI",
    subject="a CSI driver",
    prefixes=("CSI",),
    catalogues=("csi",),
    clients_judged=("CSI-CLI-*",),
    family="csi",
    revisions=("1.12", "1.13"),
    targets={
        **{name: Scheme(shown="fake" if name == "fake" else "", judges=_DRIVER) for name in FAKES},
        **{name: Scheme(shown=shown, judges=_DRIVER) for name, shown in _SERVED.items()},
        COMMAND: Scheme(
            shown="-- COMMAND --endpoint {endpoint}, which we start",
            judges=_DRIVER,
            placeholders=("endpoint", "dir", "node"),
        ),
    },
    settings="conformance.csi.settings:CsiSettings",
    opener="conformance.csi.opening:open_target",
    leftovers="conformance.csi.opening:open_leftovers",
    undo="conformance.csi.undo:TABLE",
    fakes={"csi": "refimpl.csi.fake:FakeDriver"},
    preload=("conformance.csi.opening", "refimpl.csi.fake"),
    options=(
        Option(
            flag="csi.controllerendpoint",
            field="controller_endpoint",
            text="Endpoint of the controller where it is not the node's.",
        ),
        Option(
            flag="csi.secrets",
            field="secrets",
            text="YAML file: one map of secrets for each kind of call.",
            reads="maps",
        ),
        Option(
            flag="csi.testvolumesize",
            field="volume_size",
            text="Size in bytes of the volumes made.  [the smallest that the driver makes]",
            kind=int,
        ),
        Option(
            flag="csi.testvolumeexpandsize",
            field="expand_size",
            text="Size in bytes to expand to.  [twice the size]",
            kind=int,
        ),
        Option(
            flag="csi.testvolumeaccesstype",
            field="access_type",
            text="Access type of the volumes made.",
            choices=("mount", "block"),
        ),
        Option(
            flag="csi.testvolumeparameters",
            field="parameters",
            text="YAML file: parameters of CreateVolume.",
            reads="map",
        ),
        Option(
            flag="csi.testvolumemutableparameters",
            field="mutable_parameters",
            text="YAML file: mutable parameters.",
            reads="map",
        ),
        Option(
            flag="csi.testsnapshotparameters",
            field="snapshot_parameters",
            text="YAML file: parameters of CreateSnapshot.",
            reads="map",
        ),
        Option(
            flag="csi.testnodevolumeattachlimit",
            field="attach_limit",
            text="Attach up to the limit that the node tells.",
            kind=bool,
        ),
        Option(
            flag="csi.testinvalidlistvolumesstartingtoken",
            field="invalid_token",
            text="A token ListVolumes has to refuse.",
        ),
        Option(
            flag="csi.mountdir",
            field="target_dir",
            text="Parent directory of target paths, as the driver sees it.",
        ),
        Option(
            flag="csi.stagingdir",
            field="staging_dir",
            text="Parent directory of staging paths, as the driver sees it.",
        ),
        Option(
            flag="csi.createmountpathcmd",
            field="make_target",
            text="Program that makes a target's parent; prints the path to use.",
        ),
        Option(
            flag="csi.createstagingpathcmd",
            field="make_staging",
            text="Program that makes a staging path; prints the path to use.",
        ),
        Option(
            flag="csi.createpathcmdtimeout",
            field="make_timeout_s",
            text="Limit of both, such as 10s.  [10s]",
            reads="duration",
        ),
        Option(
            flag="csi.removemountpathcmd",
            field="remove_target",
            text="Program that removes what createmountpathcmd made.",
        ),
        Option(
            flag="csi.removestagingpathcmd",
            field="remove_staging",
            text="Program that removes what createstagingpathcmd made.",
        ),
        Option(
            flag="csi.removepathcmdtimeout",
            field="remove_timeout_s",
            text="Limit of both.  [10s]",
            reads="duration",
        ),
        Option(
            flag="csi.checkpathcmd",
            field="check_path",
            text="Program that prints file, directory, not_found or other for a path.",
        ),
        Option(
            flag="csi.checkpathcmdtimeout",
            field="check_timeout_s",
            text="Limit of it.  [10s]",
            reads="duration",
        ),
    ),
)
