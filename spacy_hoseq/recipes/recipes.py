"""Configs to begin with, by name: `python -m spacy hoseq init NAME`.

A recipe is a stack of the .cfg files beside this one, over `frame.cfg`; each file holds what it
changes. The language sets `nlp.lang`, for Chinese the templates and the tokenizer, for English and
Chinese the classes of words.
"""

from pathlib import Path
from typing import Dict, NamedTuple, Optional, Tuple

from spacy.util import get_lang_class

from ..errors import Errors
from .sections import Layer, Section, composed, read_layer, text_of


class Recipe(NamedTuple):
    """what: what it trains. files: its layers, without the frame. lang: its language if none is
    given."""

    what: str
    files: Tuple[str, ...]
    lang: str = "en"


RECIPES: Dict[str, Recipe] = {
    "tagger": Recipe("tags, first order", ("tagger",)),
    "higher-order": Recipe(
        "tags, with frequent label sequences as patterns", ("tagger", "higher-order")
    ),
    "accurate": Recipe(
        "tags, with more features, and what training knows of words", ("tagger", "accurate")
    ),
    "crf": Recipe("tags with calibrated probabilities", ("tagger", "crf")),
    "bidirectional": Recipe("tags, the easiest word first", ("bidirectional",)),
    "chunker": Recipe("chunks from words and given tags", ("chunker",)),
    "pipeline": Recipe(
        "tags, and chunks from their probabilities", ("tagger", "crf", "chunker", "pipeline")
    ),
    "entities": Recipe("entities from words", ("chunker", "entities")),
    "chinese": Recipe("tags of Chinese words, with rules as patterns", ("tagger", "chinese"), "zh"),
    "morphologizer": Recipe(
        "parts of speech and features, for any number of labels", ("morphologizer",)
    ),
    "sentences": Recipe("where sentences begin in raw text", ("sentences",)),
    "words": Recipe("words and sentences of raw text, for a tokenizer", ("words",)),
    "treebank": Recipe(
        "tags, parts of speech, features and lemmas, from a treebank", ("morphologizer", "treebank")
    ),
    "neural-chunker": Recipe(
        "chunks, from both together, and given tags", ("chunker", "neural-chunker")
    ),
    "neural-entities": Recipe(
        "entities, from both together", ("chunker", "entities", "neural-chunker", "neural-entities")
    ),
}
ALIASES = {"ner": "entities"}  # other names of recipes


class Words(NamedTuple):
    """A table of words that recipes of a language read. layer: the file that names it. columns: its
    classes of each word. sets: templates -> the same, and those classes. names: the file that adds
    lists of names, for the templates NAMES."""

    layer: str
    columns: int
    sets: Dict[str, str]
    names: str = ""


# what is asked of words in letters -> of words in Chinese characters
CHARACTERS = {
    "english_pos_templates.v2": "chinese_pos_templates.v2",
    "accurate_pos_templates.v1": "accurate_chinese_pos_templates.v1",
    "chunk_word_templates.v1": "word_entity_templates.v1",
    "entity_templates.v1": "chinese_entity_templates.v1",
    "spaced_segmentation_templates.v2": "segmentation_templates.v1",
}
NAMES = "entity_templates.v3"  # ask for lists of names
WORDS = {
    "en": Words(
        "en",
        4,
        {
            "english_pos_templates.v2": "english_pos_templates.v3",
            "accurate_pos_templates.v1": "accurate_pos_templates.v2",
            "chunk_templates.v1": "chunk_templates.v2",
            "chunk_word_templates.v1": "chunk_word_templates.v2",
            "entity_templates.v1": NAMES,
        },
        names="en_names",
    ),
    "zh": Words(
        "zh_words",
        1,
        {
            "chinese_pos_templates.v2": "chinese_pos_templates.v3",
            "accurate_chinese_pos_templates.v1": "accurate_chinese_pos_templates.v2",
            "chinese_entity_templates.v1": "chinese_entity_templates.v2",
        },
    ),
}
NO_WORDS = Words("", 0, {})
PACKAGE = "spacy_hoseq."  # begins the names of its functions
TRAINED_BY = "#   python -m spacy train config.cfg --paths.train TRAIN.spacy --paths.dev DEV.spacy --output DIR"


def recipe(name: str, lang: Optional[str] = None) -> str:
    """A complete config as text, with comments, for `spacy train`.

    name (str): one of RECIPES or ALIASES. lang (str): a language of spaCy's; None: that of the
        recipe.
    RAISES ValueError [HS116]: there is no such recipe; [HS117]: no such language.
    """
    name = ALIASES.get(name, name)
    if name not in RECIPES:
        raise ValueError(Errors.HS116.format(name=name, known=", ".join(RECIPES)))
    lang = RECIPES[name].lang if lang is None else lang
    layers = [layer_of(file) for file in ("frame", *RECIPES[name].files)]
    words = WORDS.get(lang, NO_WORDS)
    if lang == "zh":
        layers.append(layer_of(lang))
    asked = {templates_of(each, lang) for each in composed(layers).sections.values()}
    if asked & {*words.sets}:
        layers.append(layer_of(words.layer))
    if NAMES in {words.sets.get(templates) for templates in asked}:
        layers.append(layer_of(words.names))
    layer = composed([*layers, read_layer(f'[nlp]\nlang = "{checked(lang)}"\n')])
    sections = {title: fitting(section, lang) for title, section in layer.sections.items()}
    return text_of(Layer([*layer.heading, TRAINED_BY], sections))


def templates_of(section: Section, lang: str) -> str:
    """The set of templates that a section has in a language, without classes of words."""
    general = section.function.removeprefix(PACKAGE)
    return CHARACTERS.get(general, general) if lang == "zh" else general


def fitting(section: Section, lang: str) -> Section:
    """A section with the templates of a language."""
    words = WORDS.get(lang, NO_WORDS)
    templates = templates_of(section, lang)
    if templates in words.sets:
        settings = {"classes": [f"classes = {words.columns}"]}
        return section.made_by(PACKAGE + words.sets[templates], settings)
    is_changed = templates != section.function.removeprefix(PACKAGE)
    return section.made_by(PACKAGE + templates, {}) if is_changed else section


def layer_of(file: str) -> Layer:
    """The .cfg file of this name beside this one."""
    return read_layer(Path(__file__).with_name(f"{file}.cfg").read_text(encoding="utf8"))


def checked(lang: str) -> str:
    """The code of a language. RAISES ValueError [HS117]: spaCy has no such language."""
    try:
        get_lang_class(lang)
    except ImportError as error:
        raise ValueError(Errors.HS117.format(lang=lang)) from error
    return lang
