"""How sure taggers are, against all labellings."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.inspection import certainties, how_sure

from ..components import bidirectional_helpers, chunker_helpers
from ..components.helpers import blank as blank_tagger
from ..components.helpers import doc_of, examples_of, sparse, tagger_model, tagger_of, train
from .texts import entropy, entropy_of, probabilities, table_of

TEXTS = ["the old cat", "dogs run home .", "runs"]


@pytest.fixture(scope="module", params=["perceptron", "max_margin", "log_likelihood", "likelihood of patterns"])
def nlp(request):
    nlp = blank_tagger(request.param)
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 3, optimizer=optimizer)
    return nlp


def test_tagger_against_all_labellings(nlp):
    pipe = tagger_of(nlp)
    docs = [doc_of(nlp, text) for text in TEXTS]
    for doc, found in zip(docs, certainties(pipe, docs), strict=True):
        table, p = table_of(pipe, doc), probabilities(table_of(pipe, doc))
        best = table.best_labels
        assert found.labels == [pipe.labels[y] for y in best]
        for t, label in enumerate(best):
            here = table.labellings[:, t]
            assert found.probabilities[t] == pytest.approx(p[here == label].sum())
            assert found.entropies[t] == pytest.approx(entropy_of(table, [t]), abs=1e-7)
            assert found.margins[t] == pytest.approx(table.best - table.scores[here != label].max())
        ((first, end, log_probability, h, margin),) = found.sentences
        assert (first, end) == (0, len(doc))
        assert log_probability == pytest.approx(np.log(p.max())) and h == pytest.approx(entropy(p), abs=1e-7)
        assert margin == pytest.approx(-np.diff(table.k_best(2)[1])[0])


def test_chunker_against_all_labellings():
    """Tags that cannot follow each other count for nothing."""
    nlp = chunker_helpers.random_chunker("patterns", seed=3)
    pipe = chunker_helpers.chunker_of(nlp)
    doc = chunker_helpers.doc_of(nlp, "the old dog runs")
    every = chunker_helpers.Enumerated(nlp, doc)
    (found,) = certainties(pipe, [doc])
    best = int(every.p.argmax())
    assert found.labels == every.tags_of(best)
    assert found.sentences[0].entropy == pytest.approx(entropy(every.p), abs=1e-7)
    assert found.sentences[0].log_probability == pytest.approx(np.log(every.p.max()))
    assert found.sentences[0].margin == pytest.approx(-np.diff(np.sort(every.scores)[::-1][:2])[0])
    expected = [entropy(row) for row in every.marginals()]
    assert found.entropies == pytest.approx(expected, abs=1e-7)


def test_what_is_set_already_does_not_count(nlp):
    """Annotated docs can be asked, too: the tagger itself would keep their tags."""
    pipe = tagger_of(nlp)
    (plain,) = certainties(pipe, [doc_of(nlp, TEXTS[1])])
    (annotated,) = certainties(pipe, [nlp(doc_of(nlp, TEXTS[1], tags="A A A A"))])
    assert annotated.labels == plain.labels and annotated.entropies.tolist() == plain.entropies.tolist()


def test_white_space_sentences_and_empty_docs(nlp):
    pipe = tagger_of(nlp)
    spaced = Doc(nlp.vocab, words=["the", "\n", "cat", "runs", "\n"], sent_starts=[1, 0, 0, 1, 0])
    plain = Doc(nlp.vocab, words=["the", "cat", "runs"], sent_starts=[1, 0, 1])
    found, empty, expected = certainties(pipe, [spaced, Doc(nlp.vocab), plain])
    assert found.labels == [expected.labels[0], "", *expected.labels[1:], ""]
    assert found.entropies.tolist() == [expected.entropies[0], 0, *expected.entropies[1:], 0]
    assert [tuple(s[:2]) for s in found.sentences] == [(0, 3), (3, 4)]
    assert [s[2:] for s in found.sentences] == [s[2:] for s in expected.sentences]
    assert empty.labels == [] and empty.sentences == []


def test_component_that_finds_sentences():
    """It is asked about the words alone: where its own sentences begin, it would be sure."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger", config={"attribute": "sent_start", "objective": "log_likelihood"})
    words = "a b . c d . e".split()
    example = spacy.training.Example.from_dict(Doc(nlp.vocab, words=words), {"sent_starts": [1, -1, -1, 1, -1, -1, 1]})
    nlp.initialize(lambda: [example])
    nlp.update([example])
    (before,) = certainties(nlp.get_pipe("hoseq_tagger"), [Doc(nlp.vocab, words=words)])
    doc = nlp(Doc(nlp.vocab, words=words))
    assert len(list(doc.sents)) > 1
    (after,) = certainties(nlp.get_pipe("hoseq_tagger"), [doc])
    assert after.entropies.tolist() == before.entropies.tolist()


def test_component_that_finds_sentences_by_tags():
    """What other components wrote is there; its own probabilities are those of a text without sentences."""
    nlp = spacy.blank("xx")
    model = tagger_model(sparse(["tag[0]", "tag[-1]", "lower[0]"]))
    config = {"attribute": "sent_start", "objective": "log_likelihood", "model": model, "save_marginals": True}
    pipe = nlp.add_pipe("hoseq_tagger", config=config)
    words = "a b . c d . e".split()
    tags = "D N P D N P D".split()
    starts = [True, False, False, True, False, False, True]
    gold = Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts)
    examples = [spacy.training.Example(Doc(nlp.vocab, words=words, tags=tags), gold)]
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    doc = pipe(Doc(nlp.vocab, words=words, tags=tags))
    marginals = doc._.hoseq_marginals["hoseq_tagger"]["probabilities"]
    (found,) = certainties(pipe, [doc])
    assert found.probabilities == pytest.approx(marginals.max(axis=1), abs=1e-6)
    assert [token.is_sent_start for token in doc] == starts


@pytest.fixture(scope="module")
def easiest_first():
    return bidirectional_helpers.ready()


def test_decisions_of_a_bidirectional_tagger(easiest_first):
    """Probabilities are those that it keeps with `save_decisions`."""
    (name,) = easiest_first.pipe_names
    pipe = easiest_first.get_pipe(name)
    doc = bidirectional_helpers.doc_of(easiest_first, "the old dog sees a cat .")
    kept, pipe.cfg["save_decisions"] = pipe.cfg["save_decisions"], True
    expected = pipe(doc.copy())._.hoseq_decisions[name]
    pipe.cfg["save_decisions"] = kept
    (found,) = certainties(pipe, [doc])
    assert found.labels == expected["labels"]
    assert found.probabilities == pytest.approx(expected["probabilities"])
    assert found.sentences[0].log_probability == pytest.approx(np.log(expected["probabilities"].astype(float)).sum())
    (sentence,) = found.sentences
    assert sentence.entropy == pytest.approx(found.entropies.sum()) and sentence.margin == found.margins.min()
    assert ((found.entropies > 0) & (found.margins > 0)).all()


def test_messages(nlp, easiest_first):
    other = spacy.blank("xx")
    with pytest.raises(ValueError, match=r'\[HS140\] The component "sentencizer" \(Sentencizer\)'):
        next(certainties(other.add_pipe("sentencizer"), [Doc(other.vocab, words=["a"])]))
    pipe = easiest_first.get_pipe(easiest_first.pipe_names[0])
    kept, pipe.cfg["strategy"] = pipe.cfg["strategy"], "dependency_network"
    with pytest.raises(ValueError, match=r'\[HS140\] .*the strategy "dependency_network"'):
        next(certainties(pipe, [Doc(easiest_first.vocab, words=["a"])]))
    assert list(how_sure(easiest_first, [Doc(easiest_first.vocab, words=["a"])]))[0]._.hoseq_certainty == {}
    pipe.cfg["strategy"] = kept


def test_on_docs_and_tokens(nlp):
    doc = nlp(doc_of(nlp, TEXTS[0]))
    (doc,) = how_sure(nlp, [doc])
    (expected,) = certainties(tagger_of(nlp), [doc])
    of_doc = doc._.hoseq_certainty["hoseq_tagger"]
    assert of_doc.sentences == expected.sentences and of_doc.entropies.tolist() == expected.entropies.tolist()
    token = doc[1]._.hoseq_certainty["hoseq_tagger"]
    assert token == (doc[1].tag_, expected.probabilities[1], expected.entropies[1], expected.margins[1])
    loaded = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert loaded[1]._.hoseq_certainty["hoseq_tagger"] == token
