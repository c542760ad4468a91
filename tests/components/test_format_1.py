"""Models saved in the first format of weights (plain arrays), which are kept in data/format_1 as they were written."""

import numpy as np
import pytest
import srsly

from . import bidirectional_helpers as bidirectional
from . import chunker_helpers as chunks
from .helpers import blank, doc_of, gold, predicted, tagger_of
from .saved import DATA, NAMES, formats_in


def loaded(pipe, name):
    with pytest.warns(UserWarning, match="HW007"):
        pipe.from_disk(DATA / "format_1" / name, exclude=["vocab"])
    return pipe


def resaved(pipe):
    """Whether the component, saved now and loaded again, is saved alike. RETURNS what is saved, for the next format."""
    data = pipe.to_bytes(exclude=["vocab"])
    pipe.from_bytes(data)
    assert pipe.to_bytes(exclude=["vocab"]) == data
    return formats_in(srsly.msgpack_loads(data)["model"])


@pytest.mark.parametrize("name", NAMES)
def test_files_are_of_the_first_format(name):
    formats = formats_in((DATA / "format_1" / name / "model").read_bytes())
    assert formats and set(formats) == {None}


def test_tagger_with_patterns():
    nlp = blank("frequent")
    tagger = loaded(tagger_of(nlp), "hoseq_tagger")
    for _ in range(2):
        assert predicted(nlp) == gold()
        scores = tagger.model.predict([doc_of(nlp, "the old cat runs")])
        expected = [-0.24932861328125, 0.7152099609375, -0.353759765625, -0.333740234375]
        assert scores.scores[:, 1].tolist() == pytest.approx(expected, abs=1e-6)
        assert scores.trans.sum() == pytest.approx(-0.073486328125, abs=1e-6)
        assert resaved(tagger) == [5, 5]


def test_bidirectional_tagger():
    nlp = bidirectional.blank(model=bidirectional.local(order=1))
    tagger = loaded(bidirectional.tagger_of(nlp), "hoseq_bidirectional_tagger")
    at = np.arange(4)
    for _ in range(2):
        assert predicted_by(nlp) == gold()
        ask = tagger.model.predict([doc_of(nlp, "the old cat runs")])
        scores = ask(at, np.full(4, 3), at, np.array([[0, 1]] * 4))[:, 1].tolist()
        expected = [-1.047943115234375, 0.7215576171875, -1.1053466796875, -1.00732421875]
        assert scores == pytest.approx(expected, abs=1e-6)
        assert resaved(tagger) == [5]


def predicted_by(nlp):
    return bidirectional.predicted(nlp)


def test_chunker_that_listens():
    nlp = chunks.blank("joint")
    loaded(nlp.get_pipe("hoseq_tagger"), "upstream_tagger")
    chunker = loaded(chunks.chunker_of(nlp), "hoseq_chunker")
    for _ in range(2):
        doc = nlp(chunks.doc_of(nlp, chunks.CORPUS[0][0]))
        assert chunks.on(doc) == chunks.CORPUS[0][2]
        assert doc.spans["chunks"].attrs["scores"] == pytest.approx([0.8500871, 0.8077687, 0.85885155], abs=1e-6)
        assert resaved(chunker) == [5, 5, 5]
