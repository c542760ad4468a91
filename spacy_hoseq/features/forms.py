"""Tags and lemmas that words can have, by a list of forms and by the training text.

[initialize.components.hoseq_tagger.tag_dictionary]
@misc = "spacy_hoseq.tag_lexicon.v1"
path = "forms.tsv"
train = ${paths.train}
"""

from pathlib import Path

from spacy.morphology import Morphology
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from .word_classes import lines_of, read_forms


def tag_lexicon(path: str | Path | None, train: str | Path | None = None) -> dict[str, list[str]]:
    """Registered as `spacy_hoseq.tag_lexicon.v1`: the tags that each form in a file can have.

    train: a .spacy file. Forms have the tags that they have there, too, and only tags that it has
    are kept; a form of which none is left can have any. "NOUN|Case=Nom", with the features in
    spaCy's order, is a tag beside the others.
    RAISES ValueError [E913]: no path; [HS073]: a line of another kind.
    """
    tags_of = {form: sorted(map(_in_order, tags)) for form, tags in read_forms(path).items()}
    if train is None:
        return tags_of
    seen: dict[str, set[str]] = {}
    for doc in DocBin().from_disk(train).get_docs(Vocab()):
        for token in doc:
            tags = [token.tag_] if token.tag else []
            if token.pos:
                tags.append("|".join(filter(None, [token.pos_, str(token.morph)])))
            seen.setdefault(token.text, set()).update(tags)
    known = set().union(*seen.values())
    joined = {form: seen.get(form, set()) | (known & set(tags)) for form, tags in tags_of.items()}
    return {form: sorted(tags) for form, tags in joined.items() if tags}


def lemma_lexicon(path: str | Path | None) -> dict[str, list[str]]:
    """Registered as `spacy_hoseq.lemma_lexicon.v1`: the lemmas of each form in a file, sorted. Each
    line has a form and a lemma, separated by a tab; further columns are not read.

    RAISES ValueError [E913]: no path; [HS073]: a line without a form and a lemma.
    """
    lemmas_of: dict[str, set[str]] = {}
    for number, line in lines_of(path):
        form, _, rest = line.partition("\t")
        lemma = rest.partition("\t")[0]
        if not form or not lemma:
            raise ValueError(
                Errors.HS073.format(
                    path=path,
                    line=number,
                    expected="a form and its lemma, separated by tabs",
                    actual=line[:40],
                )
            )
        lemmas_of.setdefault(form, set()).add(lemma)
    return {form: sorted(lemmas) for form, lemmas in lemmas_of.items()}


def _in_order(tag: str) -> str:
    """The features of "NOUN|Number=Plur|Case=Nom" in spaCy's order."""
    pos, _, features = tag.partition("|")
    if not all("=" in feature for feature in features.split("|")):
        return tag
    return f"{pos}|{Morphology.dict_to_feats(Morphology.feats_to_dict(features))}"
