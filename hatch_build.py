"""Puts `top_level.txt` into the wheel: by it alone `spacy package` finds the packages that a pipeline requires."""

from pathlib import Path
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TopLevel(BuildHookInterface):
    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        path = Path(self.directory) / "top_level.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("spacy_hoseq\n", encoding="utf8")
        folder = f"{self.build_config.builder.artifact_project_id}.dist-info"
        build_data["force_include"][str(path)] = f"{folder}/{path.name}"

    def finalize(self, version: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        (Path(self.directory) / "top_level.txt").unlink()
