"""What the metadata of the wheel has beside pyproject.toml: the package in top_level.txt, where `spacy package` looks
up what a pipeline requires; the README with addresses in place of paths, as package indexes show it."""

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

IMAGES = "https://raw.githubusercontent.com/spacy-hoseq/spacy_hoseq/main/"
PAGES = "https://github.com/spacy-hoseq/spacy_hoseq/blob/main/"
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#|mailto:)([^)]+)\)")


class Readme(MetadataHookInterface):
    """README.md, whose links and images are paths of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf8")
        absolute = LINK.sub(
            lambda link: f"{link[1]}{link[2]}({IMAGES if link[1] else PAGES}{link[3]})", text
        )
        absolute = re.sub('(src|srcset)="(?!https?:)', rf'\1="{IMAGES}', absolute)
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute}


class TopLevel(BuildHookInterface):
    """Of the wheel, also of an editable one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "top_level.txt"
        path.write_text("spacy_hoseq\n", encoding="utf8")
        target = f"{self.build_config.builder.artifact_project_id}.dist-info/top_level.txt"
        for name in ("force_include", "force_include_editable"):
            build_data.setdefault(name, {})[str(path)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()
