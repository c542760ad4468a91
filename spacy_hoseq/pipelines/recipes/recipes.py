"""Configs to begin with, by name: `python -m spacy hoseq init NAME`.

Each is a .cfg file beside this one. A language changes `nlp.lang` in it, Chinese also the tokenizer,
English and Chinese the templates and a table of words.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from spacy.util import dot_to_object, walk_dict
from thinc.api import Config

from ...errors import Errors
from ..names import checked_language


class Recipe(NamedTuple):
    """A config to begin with. what: what it trains. lang: its language if none is given."""

    what: str
    lang: str = "en"


RECIPES: dict[str, Recipe] = {
    "tagger": Recipe("tags, first order"),
    "higher-order": Recipe("tags, with frequent label sequences as patterns"),
    "accurate": Recipe("tags, with more features, and what training knows of words"),
    "crf": Recipe("tags with calibrated probabilities"),
    "bidirectional": Recipe("tags, the easiest word first"),
    "chunker": Recipe("chunks from words and given tags"),
    "pipeline": Recipe("tags, and chunks from their probabilities"),
    "entities": Recipe("entities from words"),
    "chinese": Recipe("tags of Chinese words, with rules as patterns", "zh"),
    "morphologizer": Recipe("parts of speech and features, for any number of labels"),
    "sentences": Recipe("where sentences begin in raw text"),
    "words": Recipe("words and sentences of raw text, for a tokenizer"),
    "treebank": Recipe("tags, parts of speech, features and lemmas, from a treebank"),
    "neural-chunker": Recipe("chunks, from both together, and given tags"),
    "neural-entities": Recipe("entities, from both together"),
}
ALIASES = {"ner": "entities"}  # other names of recipes
# language -> set of templates -> the set in its place, and how many classes of a word that reads
TEMPLATES: dict[str, dict[str, tuple[str, int]]] = {
    "en": {
        "english_pos": ("english_pos", 4),
        "accurate_pos": ("accurate_pos", 4),
        "chunks": ("chunks", 4),
        "chunk_words": ("chunk_words", 4),
        "entities": ("entities", 5),
    },
    "zh": {
        "english_pos": ("chinese_pos", 1),
        "chinese_pos": ("chinese_pos", 1),
        "accurate_pos": ("accurate_chinese_pos", 1),
        "chunk_words": ("word_entities", 0),
        "entities": ("chinese_entities", 1),
        "spaced_segmentation": ("segmentation", 0),
    },
}
# sections of every recipe for Chinese
CHINESE: dict[str, dict[str, Any]] = {
    "nlp.tokenizer": {"@tokenizers": "spacy.zh.ChineseTokenizer", "segmenter": "char"},
    "initialize.tokenizer": {"pkuseg_model": None, "pkuseg_user_dict": "default"},
}


def recipe(name: str, lang: str | None = None) -> str:
    """A complete config as text, with comments, for `spacy train`.

    name (str): one of RECIPES or ALIASES. lang (str): a language of spaCy; None: that of the
        recipe.
    RAISES ValueError [HS161]: there is no such recipe; [HS027]: no such language.
    """
    name = ALIASES.get(name, name)
    if name not in RECIPES:
        near = get_close_matches(name, RECIPES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(Errors.HS161.format(name=name, known=", ".join(RECIPES)) + hint)
    lang = checked_language(RECIPES[name].lang if lang is None else lang)
    text = Path(__file__).with_name(f"{name}.cfg").read_text(encoding="utf8")
    changes: dict[str, dict[str, Any]] = {"nlp": {"lang": lang}}
    if lang == "zh":
        changes.update(CHINESE)
    templates = templates_for(text, lang)
    changes.update(templates)
    text = with_settings(text, changes)
    n_classes = {settings["classes"] for settings in templates.values()} - {0}
    if n_classes:
        # a section takes the place of the empty setting
        text = text.replace("lookups = null\n", "") + words_section(lang, n_classes)
    return text


def templates_for(text: str, lang: str) -> dict[str, dict[str, Any]]:
    """Sections of a config with a set of templates -> the settings that a language changes."""
    sets = TEMPLATES.get(lang, {})
    config = Config().from_str(text, interpolate=False)
    changes = {}
    for path, value in walk_dict(config["components"]):
        if value == "spacy_hoseq.templates.v1":
            section = ".".join(["components", *path[:-1]])
            general = dot_to_object(config, section)["name"]
            if general in sets:
                name, n_classes = sets[general]
                changes[section] = {"name": name, "classes": n_classes}
    return changes


def words_section(lang: str, n_classes: set[int]) -> str:
    """The section with the table of words of a language, commented. n_classes: how many classes of a
    word the sets of templates read; the fifth is whether it is part of a name."""
    more = "null"
    if lang == "zh":
        what = "A table of 127,000 words and names, with their tags in a dictionary."
    elif 5 in n_classes:
        more = '["en_names"]'
        what = (
            "Clusters and the tags of a lexicon for 80,000 words, and 49,000 names of persons and places."
            "\n# Without names: more = null, and classes = 4."
        )
    else:
        what = "A table of 80,000 words: word clusters, and the tags of a lexicon."
    return f"""
# {what}
# The model keeps it. Without: lookups = null under [initialize], and classes = 0.
[initialize.lookups]
@misc = "spacy_hoseq.word_classes_of.v1"
pipeline = "{lang}"
more = {more}
"""


def with_settings(text: str, changes: Mapping[str, Mapping[str, Any]]) -> str:
    """A config with other settings; comments and the order of lines stay, as they would not in
    `Config.to_str`. changes: section -> setting -> value. A setting that its section does not have
    comes last in it."""
    lines: list[str] = []
    ends: dict[str, int] = {}  # section -> number of lines to the end of its last setting
    missing = {section: dict(settings) for section, settings in changes.items()}
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        key = line.partition(" = ")[0]
        # comments begin with "#", so they are never taken for a setting
        if key in missing.get(section, {}):
            line = setting(key, missing[section].pop(key))
        lines.append(line)
        if line and not line.startswith("#"):
            ends[section] = len(lines)
    # from the last section to the first, so that the numbers of lines before stay true
    for section in sorted(missing, key=ends.__getitem__, reverse=True):
        added = [setting(key, value) for key, value in missing[section].items()]
        lines[ends[section] : ends[section]] = added
    return "\n".join(lines) + "\n"


def setting(key: str, value: Any) -> str:
    """A line of a config."""
    return f"{key} = {srsly.json_dumps(value)}"
