"""Where lemmas stand: `token.lemma`, read and written as the scripts that make them of words."""

from typing import List, Sequence

import numpy as np
from spacy.attrs import LEMMA, ORTH
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.training import Example

from ...arrays import Keys, Labels, Mask
from ...features.keys import row_keys
from ...features.sequences import by_doc
from ..lemma_scripts import script_named, script_of
from .target import LabelTable
from .token_labels import TokenLabels


class LemmaLabels(TokenLabels):
    """Labels that are scripts (lemma_scripts.py), of the lemmas of words."""

    attribute = "lemma"
    places = ("lemma",)
    neg_prefix = ""
    space = ""

    def __init__(self) -> None:
        pass

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: it is no script."""
        script_named(label)

    def gold(self, examples: Sequence[Example], table: LabelTable) -> Mask:
        """As `Target` has it. New text has lemmas that no known script makes: nothing is warned
        of."""
        masks, _ = table.masks(self.gold_values(examples))
        return masks

    def is_set(self, doc: Doc) -> bool:
        """Whether a token may have a lemma."""
        return bool(doc.has_annotation("LEMMA"))

    def read(self, doc: Doc) -> Keys:
        """The scripts of a Doc (len(doc),) as string-store ids; 0 where no lemma is set."""
        pairs = doc.to_array([ORTH, LEMMA]).reshape(-1, 2)
        rows, row_of = np.unique(pairs, axis=0, return_inverse=True)
        strings = doc.vocab.strings
        values = [
            strings.add(script_of(strings[orth], strings[lemma]).label) if lemma else 0
            for orth, lemma in rows.tolist()
        ]
        return np.array(values, np.uint64)[row_of.reshape(-1)]

    def write(
        self, docs: Sequence[Doc], labels: Sequence[Labels], table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the lemmas that the scripts make. A lemma that is set already stays, unless
        `overwrite`; white space is its own lemma, and so is a word that the script does not fit."""
        flat = np.concatenate([np.zeros(0, np.int32), *labels])
        before = [doc.to_array([ORTH, LEMMA]).reshape(-1, 2) for doc in docs]
        orths = np.concatenate([np.zeros(0, np.uint64), *(columns[:, 0] for columns in before)])
        # words repeat: each pair of form and script is written out once
        keys = row_keys([orths, flat.astype(np.uint64)])
        _, first, pair_of = np.unique(keys, return_index=True, return_inverse=True)
        strings = docs[0].vocab.strings if docs else StringStore()
        pairs = zip(orths[first].tolist(), flat[first].tolist(), strict=True)
        lemmas = np.array([_lemma(strings, table.names, *pair) for pair in pairs], np.uint64)
        for doc, columns, values in zip(
            docs, before, by_doc(lemmas.take(pair_of), docs), strict=True
        ):
            if not overwrite:
                values = np.where(columns[:, 1] != 0, columns[:, 1], values)
            doc.from_array([LEMMA], values[:, None])  # type: ignore[arg-type]

    def _put(self, token: Token, label: str) -> None:
        token.lemma_ = script_named(label).lemma(token.text)

    def _aligned(self, example: Example) -> Keys:
        """A predicted token that is not a word of the reference has no lemma."""
        gold = self.read(example.reference)
        words = example.predicted.to_array([ORTH])
        words_of_reference = example.reference.to_array([ORTH])
        if np.array_equal(words, words_of_reference):
            return gold
        values = np.zeros(len(words), np.uint64)
        for i, word in enumerate(words.tolist()):
            places: List[int] = np.asarray(example.alignment.x2y[i], np.intp).reshape(-1).tolist()
            if len(places) == 1 and words_of_reference[places[0]] == word:
                values[i] = gold[places[0]]
        return values


def _lemma(strings: StringStore, names: Sequence[str], orth: int, label_id: int) -> int:
    form = strings[orth]
    lemma = script_named(names[label_id]).lemma(form) if label_id >= 0 else form
    return orth if lemma == form else int(strings.add(lemma))
