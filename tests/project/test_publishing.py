"""The metadata that a package index shows, as the installed package has them."""

import importlib.util
import re
from importlib.metadata import metadata
from pathlib import Path

import pytest
import srsly

import spacy_hoseq

from ..repository import ROOT

METADATA = metadata("spacy-hoseq")
PACKAGE = Path(spacy_hoseq.__file__).parent
REPOSITORY = "https://github.com/spacy-hoseq/spacy_hoseq"
PAGES = f"{REPOSITORY}/blob/main/"
IMAGES = "https://raw.githubusercontent.com/spacy-hoseq/spacy_hoseq/main/"


@pytest.fixture(scope="module")
def description():
    """As it is built from the source tree; without that, of what is installed."""
    if not (ROOT / "hatch_build.py").exists():
        return METADATA.get_payload() or METADATA["Description"]
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    made = {}
    build.Readme(str(ROOT), {}).update(made)
    return made["readme"]["text"]


def test_addresses():
    urls = dict(line.split(", ", 1) for line in METADATA.get_all("Project-URL"))
    assert set(urls) == {"Source", "Documentation", "Changelog", "Issues"}
    assert urls["Source"] == REPOSITORY
    for name in ("Documentation", "Changelog"):
        assert (ROOT / urls[name].removeprefix(PAGES)).is_file()


def test_every_link_of_the_description_leads_somewhere(description):
    """README.md with addresses in place of paths: the same pages and images of the repository."""
    pattern = r"""\]\(([^)]+)\)|(?:src|srcset)="([^"]+)\""""
    links = re.findall(pattern, description)
    there = re.findall(pattern, (ROOT / "README.md").read_text("utf8"))
    assert len(links) == len(there) > 20 and sum(bool(image) for _, image in links) == 2
    for (page, image), (path, image_path) in zip(links, there, strict=True):
        link, path = page or image, path or image_path
        assert link.startswith("https://")
        if link != path:
            assert link == (IMAGES if image else PAGES) + path
            assert (ROOT / path.partition("#")[0]).exists()


def test_licences_and_versions():
    assert METADATA["License-Expression"] == "MIT AND Apache-2.0 AND CC-BY-4.0 AND CC-BY-SA-4.0"
    files = METADATA.get_all("License-File")
    there = sorted(path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("LICENSE"))
    assert sorted(set(files) - {"LICENSE"}) == there and "LICENSE" in files and len(there) > 3
    assert METADATA["Version"] == spacy_hoseq.__version__
    versions = [line for line in METADATA.get_all("Classifier") if "Python :: 3." in line]
    pythons = [line.rpartition(" ")[2] for line in versions]
    assert METADATA["Requires-Python"] == f">={pythons[0]}" and "3.13" in pythons


def test_the_changelog_has_this_version_and_its_day():
    text = (ROOT / "CHANGELOG.md").read_text("utf8")
    versions = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", text, re.M)
    assert versions[0] == spacy_hoseq.__version__


def test_entry_for_the_universe_of_spacy(capsys):
    """Its example prints what it says."""
    entry = srsly.read_json(ROOT / "docs" / "universe.json")
    *code, printed = entry["code_example"]
    exec("\n".join(code), {})
    assert capsys.readouterr().out.strip() == printed.removeprefix("# ")
    assert f"https://github.com/{entry['github']}" == REPOSITORY
    assert entry["pip"] == METADATA["Name"]
