"""Tags and lemmas that words can have, from a list of forms and from the training text.

[initialize.components.hoseq_tagger.tag_dictionary]
@misc = "spacy_hoseq.tag_lexicon.v1"
path = "forms.tsv"
train = ${paths.train}
"""

from collections import defaultdict
from pathlib import Path

from spacy.morphology import Morphology
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from .word_classes import lines_of, read_forms


def tag_lexicon(path: str | Path | None, train: str | Path | None = None) -> dict[str, list[str]]:
    """Registered as `spacy_hoseq.tag_lexicon.v1`: the tags that each form in a file can have.

    train: a .spacy file. Forms also have the tags that they have there, and tags that it lacks are
    left out; a form without any tag left can have all. "NOUN|Case=Nom", with the features in
    spaCy's order, is a tag beside the others.
    RAISES ValueError [E913]: no path; [HS073]: a line of another kind.
    """
    lexicon = {form: {*map(_in_order, tags)} for form, tags in read_forms(path).items()}
    if train is not None:
        seen = _tags_seen(train)
        known = set().union(*seen.values())
        lexicon = {form: seen.get(form, set()) | (known & tags) for form, tags in lexicon.items()}
    return {form: sorted(tags) for form, tags in lexicon.items() if tags}


def _tags_seen(train: str | Path) -> dict[str, set[str]]:
    """The tags of each form in a .spacy file, and its parts of speech with features."""
    seen: dict[str, set[str]] = defaultdict(set)
    for doc in DocBin().from_disk(train).get_docs(Vocab()):
        for token in doc:
            if token.tag:
                seen[token.text].add(token.tag_)
            if token.pos:
                seen[token.text].add(f"{token.pos_}|{token.morph}".removesuffix("|"))
    return seen


def lemma_lexicon(path: str | Path | None) -> dict[str, list[str]]:
    """Registered as `spacy_hoseq.lemma_lexicon.v1`: the lemmas of each form in a file, sorted.

    Each line has a form and a lemma, separated by a tab; further columns are not read.
    RAISES ValueError [E913]: no path; [HS073]: a line without a form and a lemma.
    """
    lexicon: dict[str, set[str]] = defaultdict(set)
    for number, line in lines_of(path):
        form, lemma, *_ = [*line.split("\t"), ""]
        if not form or not lemma:
            expected = "a form and its lemma, separated by tabs"
            raise ValueError(
                Errors.HS073.format(path=path, line=number, expected=expected, actual=line[:40])
            )
        lexicon[form].add(lemma)
    return {form: sorted(lemmas) for form, lemmas in lexicon.items()}


def _in_order(tag: str) -> str:
    """The features of "NOUN|Number=Plur|Case=Nom" in spaCy's order."""
    pos, _, features = tag.partition("|")
    if not all("=" in feature for feature in features.split("|")):
        return tag
    return f"{pos}|{Morphology.dict_to_feats(Morphology.feats_to_dict(features))}"
