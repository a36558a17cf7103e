"""What the user has to have said of a target: each `no_*` is empty, or what would have to be said.

Our fake says most of it of itself (known.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.csi.steps import Acts
from conformance.engine.hooks import Hooks

if TYPE_CHECKING:
    from refimpl.csi.fake import FakeDriver


class Configured(Acts):
    """Answers the `Has` needs of needs.py that settings decide."""

    fake: FakeDriver | None
    hooks: Hooks
    command: Sequence[str]

    @property
    def no_command(self) -> str:
        """Whether the suite can start a driver of its own."""
        return "" if self.command else "the suite did not start the driver (give -- COMMAND)"

    @property
    def no_attach_limit(self) -> str:
        """Whether the node tells a limit and the user wants it reached."""
        if not self.offers.max_volumes:
            return "the node tells no limit (max_volumes_per_node)"
        if not (self.settings.attach_limit or self.fake):
            return "attaching up to the limit is asked for by --csi.testnodevolumeattachlimit"
        return ""

    @property
    def no_secrets(self) -> str:
        """Whether the driver wants secrets, and which are wrong ones."""
        return "" if self.settings.secrets else "no secrets are configured (--csi.secrets)"

    @property
    def no_create_secrets(self) -> str:
        """Whether the driver wants secrets with CreateVolume."""
        known = self.settings.secrets_for("CreateVolume")
        return "" if known else "no secrets for CreateVolume are configured (--csi.secrets)"

    @property
    def no_other_parameters(self) -> str:
        """Whether a second set of parameters is known."""
        if self.settings.other_parameters:
            return ""
        return "no second set of parameters is configured (other_parameters)"

    @property
    def no_mutable_parameters(self) -> str:
        """Whether mutable parameters the driver takes are known."""
        if self.settings.mutable_parameters:
            return ""
        return "no mutable parameters are configured (--csi.testvolumemutableparameters)"

    @property
    def no_other_mutable_parameters(self) -> str:
        """Whether other values of the mutable parameters are known."""
        if self.settings.other_mutable_parameters:
            return ""
        return "no other mutable parameters are configured (other_mutable_parameters)"

    @property
    def no_faults(self) -> str:
        """Whether volumes can be broken and repaired."""
        if self.hooks.has("break_volume", "repair_volume"):
            return ""
        return "no hook breaks and repairs volumes (hooks.break_volume, hooks.repair_volume)"

    @property
    def no_several_faults(self) -> str:
        """Whether a volume can have two faults at once, one of which is repaired."""
        known = all(self.hooks.takes(name, "reason") for name in ("break_volume", "repair_volume"))
        return "" if known else "the hooks know one fault a volume ({reason} in both)"

    @property
    def no_node_faults(self) -> str:
        """Whether a volume can be broken for one node alone."""
        if self.hooks.has("break_volume_on_node", "repair_volume_on_node"):
            return ""
        return "no hook breaks a volume for one node (hooks.break_volume_on_node, repair_...)"

    @property
    def no_holding(self) -> str:
        """Whether calls that work on a volume can be made to hang."""
        if self.hooks.has("hold_volume", "release_volume"):
            return ""
        return "no hook makes calls hang (hooks.hold_volume, hooks.release_volume)"

    @property
    def no_storage_faults(self) -> str:
        """Whether the back end can be broken and repaired."""
        if self.hooks.has("break_storage", "repair_storage"):
            return ""
        return "no hook breaks and repairs the back end (hooks.break_storage, repair_storage)"

    @property
    def no_dependency_faults(self) -> str:
        """Whether what the driver depends on can be taken away and given back."""
        if self.hooks.has("break_dependency", "repair_dependency"):
            return ""
        return "no hook takes a dependency away (hooks.break_dependency, repair_dependency)"

    @property
    def no_ephemeral(self) -> str:
        """Whether the driver makes inline ephemeral volumes."""
        if self.settings.ephemeral:
            return ""
        return "inline ephemeral volumes are not declared (ephemeral = true)"
