"""Keys and rows of whole corpora against those of every token in plain Python."""

from collections import Counter

import numpy as np
import pytest

from spacy_hoseq.features.extract import counted_keys, rows_of
from spacy_hoseq.features.index import ExactIndex, KeyCounter

from . import test_extract
from .test_extract import LEXICAL, TEMPLATES, extractor_of, plain_keys

docs, mark = test_extract.docs, test_extract.mark  # fixtures


@pytest.fixture(params=["all", "lexical", "one word", "pairs", "far", "nothing"])
def texts(request):
    own = {"one word": ["lower[-1]", "orth[0]", "lower[1]"], "pairs": ["lower[0]+lower[1]"], "far": ["orth[-9..9]"]}
    return {"all": TEMPLATES, "lexical": LEXICAL, "nothing": ["_.mark[5]"], **own}[request.param]


@pytest.mark.parametrize("chosen", [slice(0, 6), slice(6, 7), slice(3, 4), slice(0, 0)])
def test_keys_are_counted(docs, texts, chosen):
    """Every key as often as it stands in the texts, no key that is not there."""
    extractor, counter, found = extractor_of(texts), KeyCounter(), Counter()
    for keys, counts in counted_keys(extractor, extractor.columns(docs[chosen])):
        counter.add(keys, counts)
        for row in keys.tolist():
            for key, n in zip(row, [1] * len(row) if counts is None else counts.tolist(), strict=True):
                assert n > 0
                found[key] += n if key else 0
    expected = Counter(key for row in plain_keys(texts, docs[chosen]) for key in row if key)
    assert +found == expected
    for least in (1, 2, 3):
        assert counter.frequent(least).tolist() == sorted(key for key, n in expected.items() if n >= least)


@pytest.mark.parametrize("chosen", [slice(0, 6), slice(6, 7), slice(3, 4), slice(0, 0)])
def test_rows_are_those_of_the_keys(docs, texts, chosen):
    """Of an index that knows half of the keys."""
    extractor, plain = extractor_of(texts), plain_keys(texts, docs[chosen])
    known = sorted({key for row in plain for key in row if key})[::2]
    rows = rows_of(extractor, ExactIndex(np.array(known, np.uint64)), extractor.columns(docs[chosen]))
    row_of = {key: row for row, key in enumerate(known)}
    assert rows.dtype == np.int32 and rows.tolist() == [[row_of.get(key, len(known)) for key in row] for row in plain]
