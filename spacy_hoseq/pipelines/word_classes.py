"""The classes of words of a trained pipeline, for the training of another one.

[initialize.lookups]
@misc = "spacy_hoseq.word_classes_of.v1"
pipeline = "en"
"""

from pathlib import Path
from typing import Any

import srsly
from spacy.lookups import Lookups

from ..errors import not_found
from ..features.attributes import FURTHER_TABLES, SOURCES_TABLE
from ..features.word_classes import CLASS_WORDS_TABLE, WORD_CLASSES_TABLE
from . import folder_of
from .loading import refusal

WORD_LISTS = ("en_names", "en_organizations")  # of the package, saved as pipelines are


def word_classes_of(pipeline: str | Path, more: list[str] | None = None) -> Lookups:
    """Registered as `spacy_hoseq.word_classes_of.v1`: the table of `spacy_hoseq.word_classes.v1` in
    a pipeline.

    pipeline: its folder, or "en", the pipeline of this package: word clusters in three widths, and
        the tags of words in a lexicon; or "zh", Chinese words and names with their tags in a
        dictionary. (Their cards name the sources.) A component that learns with the table names
        the sources in the meta of its pipeline. more: folders with further tables, "en_names",
        lists of names, or "en_organizations", words of organizations, places and products; their
        columns come after those of the pipeline, whose own further tables are left out.
    RAISES ValueError [HS130]: no such pipeline; [HS159]: it has no classes of words; [HS133]: its
        files are damaged.
    """
    table, makers, words = _classes_in(pipeline)
    if more:
        table[FURTHER_TABLES] = []
        for name in more:
            further, further_makers, _ = _classes_in(name)
            table[FURTHER_TABLES].append(further)
            makers += further_makers
    lookups = Lookups()
    lookups.add_table(WORD_CLASSES_TABLE, table)
    lookups.add_table(SOURCES_TABLE, {WORD_CLASSES_TABLE: makers})
    if words:
        lookups.add_table(CLASS_WORDS_TABLE, words)
    return lookups


def _classes_in(pipeline: str | Path) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """The table of a pipeline, or of a list of the package, without further tables; its makers; and
    some words of each class."""
    if pipeline in WORD_LISTS:
        folder = Path(__file__).with_name("word_lists") / pipeline
    else:
        folder = folder_of(pipeline)
    try:
        lookups = Lookups().from_disk(folder / "vocab")
        makers = _makers_in(lookups, folder)
        classes = lookups.get_table(WORD_CLASSES_TABLE, None)
        words = lookups.get_table(CLASS_WORDS_TABLE, {})
    except Exception as error:
        raise refusal(pipeline, "vocab/lookups.bin or meta.json", error) from error
    if classes is None:
        raise not_found("class of words", pipeline, 'one that was trained with them, such as "en"')
    table = {name: classes[name] for name in ("columns", "rows") if name in classes}
    return table, makers, dict(words)


def _makers_in(lookups: Lookups, folder: Path) -> list[Any]:
    """The makers of a pipeline's table: those that came with it, else those in the pipeline's meta."""
    if lookups.has_table(SOURCES_TABLE):
        return [*lookups.get_table(SOURCES_TABLE)[WORD_CLASSES_TABLE]]
    sources = srsly.read_json(folder / "meta.json").get("sources", [])
    # a source that says no table is of the whole pipeline
    return [source for source in sources if source.get("table") == WORD_CLASSES_TABLE] or sources
