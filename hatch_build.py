"""Names the package in top_level.txt of its metadata, where `spacy package` looks up what a pipeline requires."""

import tempfile
from pathlib import Path
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TopLevel(BuildHookInterface):
    """Of the wheel, also of an editable one."""

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "top_level.txt"
        path.write_text("spacy_hoseq\n", encoding="utf8")
        target = f"{self.build_config.builder.artifact_project_id}.dist-info/top_level.txt"
        for name in ("force_include", "force_include_editable"):
            build_data.setdefault(name, {})[str(path)] = target

    def finalize(self, version: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()
