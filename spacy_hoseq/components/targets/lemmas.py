"""Where lemmas stand: `token.lemma`, read and written as the scripts that make them of words."""

from typing import Sequence

import numpy as np
from spacy.attrs import LEMMA, ORTH
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.training import Example

from ...arrays import Ints, Keys, Labels
from ...features.keys import row_keys
from ...features.sequences import by_doc
from ..lemma_scripts import label_of, script_named
from .target import LabelTable
from .token_labels import TokenLabels, texts_of


class LemmaLabels(TokenLabels):
    """Labels that are scripts (lemma_scripts.py), of the lemmas of words."""

    attribute = "lemma"
    places = ("lemma",)
    columns = [LEMMA]
    of_words = True

    def __init__(self) -> None:
        pass

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: it is no script."""
        script_named(label)

    def gold_rows(self, examples: Sequence[Example], table: LabelTable) -> Ints:
        """As `Target` has it. New text has lemmas that no known script makes: nothing is warned
        of."""
        return table.rows(self.gold_values(examples))

    def read(self, doc: Doc) -> Keys:
        """The scripts of a Doc (len(doc),) as string-store ids; 0 where no lemma is set."""
        add = doc.vocab.strings.add
        pairs = texts_of(doc, [ORTH, LEMMA])
        return np.array(
            [add(label_of(form, lemma)) if lemma else 0 for form, lemma in pairs], np.uint64
        )

    def write(
        self, docs: Sequence[Doc], labels: Sequence[Labels], table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the lemmas that the scripts make. A lemma that is set already stays, unless
        `overwrite`; white space is its own lemma, and so is a word that the script does not fit."""
        flat = np.concatenate([np.zeros(0, np.int32), *labels])
        before = [doc.to_array([ORTH, LEMMA]).reshape(-1, 2) for doc in docs]
        orths = np.concatenate([np.zeros((0, 2), np.uint64), *before])[:, 0]
        # words repeat: each pair of form and script is written out once
        keys = row_keys([orths, flat.astype(np.uint64)])
        _, first, pair_of = np.unique(keys, return_index=True, return_inverse=True)
        strings = docs[0].vocab.strings if docs else StringStore()
        pairs = zip(orths[first].tolist(), flat[first].tolist(), strict=True)
        lemmas = np.array([_lemma(strings, table.names, *pair) for pair in pairs], np.uint64)
        for doc, old, values in zip(docs, before, by_doc(lemmas.take(pair_of), docs), strict=True):
            if not overwrite:
                values = np.where(old[:, 1] != 0, old[:, 1], values)
            doc.from_array([LEMMA], values[:, None])  # type: ignore[arg-type]

    def _put(self, token: Token, label: str) -> None:
        token.lemma_ = script_named(label).lemma(token.text)


def _lemma(strings: StringStore, names: Sequence[str], orth: int, label_id: int) -> int:
    form = strings[orth]
    lemma = script_named(names[label_id]).lemma(form) if label_id >= 0 else form
    return orth if lemma == form else int(strings.add(lemma))
