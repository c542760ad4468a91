"""Configs to begin with, by name: `python -m spacy hoseq init NAME`.

Each is the .cfg file of its name beside this one. A language changes `nlp.lang` in it, for Chinese the
templates and the tokenizer, for English and Chinese the classes of words.
"""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

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
# sets of templates for words in letters -> for words in Chinese characters
CHARACTERS = {
    "english_pos": "chinese_pos",
    "accurate_pos": "accurate_chinese_pos",
    "chunk_words": "word_entities",
    "entities": "chinese_entities",
    "spaced_segmentation": "segmentation",
}
CHINESE_TOKENIZER = {
    '@tokenizers = "spacy.Tokenizer.v1"': '@tokenizers = "spacy.zh.ChineseTokenizer"\nsegmenter = "char"',
    "[initialize.tokenizer]": '[initialize.tokenizer]\npkuseg_model = null\npkuseg_user_dict = "default"',
}
# of a language: sets of templates -> how many classes of a word they read
CLASSES = {
    "en": {"english_pos": 4, "accurate_pos": 4, "chunks": 4, "chunk_words": 4, "entities": 5},
    "zh": {"chinese_pos": 1, "accurate_chinese_pos": 1, "chinese_entities": 1},
}
SET = re.compile(r'name = "(\w+)"\nclasses = 0\n')
TABLE = """
# {what}
# The model keeps it. Without: lookups = null under [initialize], and classes = 0.
[initialize.lookups]
@misc = "spacy_hoseq.word_classes_of.v1"
pipeline = "{lang}"
more = {more}
"""
WORDS = {
    "en": "A table of 80,000 words: word clusters, and the tags of a lexicon.",
    "zh": "A table of 127,000 words and names, with their tags in a dictionary.",
}
NAMES = (
    "Clusters and the tags of a lexicon for 80,000 words, and 49,000 names of persons and places.\n"
    "# Without names: more = null, and classes = 4."
)


def recipe(name: str, lang: str | None = None) -> str:
    """A complete config as text, with comments, for `spacy train`.

    name (str): one of RECIPES or ALIASES. lang (str): a language of spaCy's; None: that of the
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
    text = re.sub(r'^lang = "\w+"$', f'lang = "{lang}"', text, count=1, flags=re.MULTILINE)
    return with_classes(in_chinese(text) if lang == "zh" else text, lang)


def in_chinese(text: str) -> str:
    """A config with the templates and the tokenizer for Chinese characters."""
    text = SET.sub(
        lambda found: found[0].replace(found[1], CHARACTERS.get(found[1], found[1])), text
    )
    for general, chinese in CHINESE_TOKENIZER.items():
        if chinese not in text:
            text = text.replace(general, chinese)
    return text


def with_classes(text: str, lang: str) -> str:
    """A config that reads the table of words of a language, if its templates can."""
    classes = CLASSES.get(lang, {})
    n_classes = {classes[name] for name in SET.findall(text) if name in classes}
    if not n_classes:
        return text
    text = SET.sub(lambda found: found[0].replace("0", str(classes.get(found[1], 0))), text)
    has_names = 5 in n_classes
    table = TABLE.format(
        what=NAMES if has_names else WORDS[lang],
        lang=lang,
        more='["en_names"]' if has_names else "null",
    )
    return text.replace("lookups = null\n", "") + table
