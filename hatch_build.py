"""What a wheel takes along besides the package: the papers' settings, numbers and results."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KEPT = ("config.toml", "published.json", "results.jsonl")


class PapersBuildHook(BuildHookInterface):
    """Puts the papers where `kernsemble.experiments.folders` looks for them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files; an editable installation reads those of the clone."""
        if version == "editable":
            return
        for path in Path(self.root, "experiments").glob("*/*"):
            if path.name in KEPT:
                place = f"kernsemble/experiments/papers/{path.parent.name}/{path.name}"
                build_data["force_include"][str(path)] = place
