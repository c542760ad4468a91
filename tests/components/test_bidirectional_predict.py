"""Prediction of `hoseq_bidirectional_tagger`: constraints, sentences, batches, decisions."""

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.decoders.bidirectional.decompositions import decode_decompositions
from spacy_hoseq.decoders.bidirectional.easiest_first import decision_order, decode_easiest_first
from spacy_hoseq.features.sequences import sequence_lengths

from .bidirectional_helpers import (
    NAME,
    STRATEGIES,
    blank,
    chunker,
    chunks_on,
    local,
    of,
    predicted,
    ready,
    tagger_of,
    tags_of,
    train,
    trained,
)
from .helpers import CORPUS, LABELS, doc_of, examples_of, gold, random_docs, reloaded

CHAIN = [("a x", "A B"), ("b x", "B A"), ("a x x x", "A B A B"), ("b x x", "B A B"), ("x x b", "B A B"),
         ("x x x a", "B A B A")]  # fmt: skip
LONG = ("the old dog sees a cat .", "D A N V D N .")


def with_gaps(nlp, text, tags):
    return Doc(nlp.vocab, words=text.split(), tags=[tag.replace("_", "") for tag in tags.split()])


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_preset_tags_stay_and_constrain_their_neighbours(strategy):
    nlp = trained(30, of(CHAIN), strategy=strategy, model=local(["lower[0]", "label[-1]", "label[1]"], order=1))
    hears = {"left_to_right": ["B _", "A _"], "right_to_left": ["_ A", "_ B"], "easiest_last": []}
    hears["full_bidirectional"] = ["A _", "_ A"]  # the end of the sentence can tell more than a neighbour
    for given, expected in [("B _", "B A"), ("A _", "A B"), ("_ A", "B A"), ("_ B", "A B")]:
        found = [t.tag_ for t in tagger_of(nlp)(with_gaps(nlp, "x x", given))]
        assert given in (f"{found[0]} _", f"_ {found[1]}")
        if given in hears.get(strategy, [given]):
            assert found == expected.split()


def test_preset_tags_and_overwrite():
    nlp = ready()
    assert tags_of(nlp, "the cat", tags="R R") == ["R", "R"]
    assert [labels.tolist() for labels in tagger_of(nlp).predict([doc_of(nlp, "the cat", "R R")]).label_ids] == [[4, 4]]
    docs = [doc_of(nlp, LONG[0]), doc_of(nlp, "the cat", "R R"), with_gaps(nlp, LONG[0], "_ _ ODD _ _ _ _")]
    tags = LONG[1].split()
    assert [[t.tag_ for t in doc] for doc in tagger_of(nlp).pipe(docs)] == [tags, ["R", "R"], "D A ODD V D N .".split()]
    over = trained(overwrite=True)
    doc = tagger_of(over)(with_gaps(over, LONG[0], "V _ V _ ODD _ ."))
    assert [t.tag_ for t in doc] == tags


DICTIONARY = {"cat": ["V"], "zebra": ["R", "A"], "sees": ["UNKNOWN", "D"]}


def with_dictionary(entries, **config):
    nlp = blank(**config)
    tagger_of(nlp).initialize(lambda: examples_of(nlp), tag_dictionary=entries)
    train(nlp)
    return nlp


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["easiest_first", "left_to_right", "full_bidirectional"])
def test_words_of_the_dictionary_get_their_tags_only(strategy):
    nlp = with_dictionary(DICTIONARY, strategy=strategy)
    for pipeline in (nlp, reloaded(nlp)):
        assert tags_of(pipeline, "a cat sees")[1:] == ["V", "D"]
        assert all(tag in ("R", "A") for tag in tags_of(pipeline, "zebra zebra the zebra .")[::3])
    assert tags_of(nlp, CORPUS[2][0]) == CORPUS[2][1].split(), "other words are free"


@pytest.mark.long
def test_preset_tags_go_before_the_dictionary():
    nlp = with_dictionary(DICTIONARY)
    assert tags_of(nlp, "a cat", tags="D A") == ["D", "A"]
    assert tags_of(with_dictionary(DICTIONARY, overwrite=True), "a cat", tags="D A")[1] == "V"
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp)
    assert tags_of(nlp, "a cat") == ["D", "N"], "a dictionary is forgotten"
    for labels in (["UNKNOWN"], []):
        with pytest.raises(ValueError, match=r"\[HS063\].*\"cat\""):
            with_dictionary({"dog": ["N"], "cat": labels})


def test_dictionary_of_a_config():
    nlp = blank()
    nlp.config["initialize"]["components"][NAME] = {"tag_dictionary": {"cat": ["V"]}}
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp)
    assert tags_of(nlp, "the cat")[1] == "V"


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("order", [1, 2])
def test_sentences_do_not_see_each_other(order, strategy):
    nlp = ready(order, strategy)
    texts = ["old dogs see", "sees the", "a", "home runs here ."]
    alone = [tag for text in texts for tag in tags_of(nlp, text)]
    starts = [i == 0 for text in texts for i in range(len(text.split()))]
    assert tags_of(nlp, " ".join(texts), sent_starts=starts) == alone


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labels_are_those_of_the_decoder(strategy, order):
    nlp = ready(order, strategy)
    docs = random_docs(nlp)
    before = [doc.to_bytes() for doc in docs]
    scores, lengths = tagger_of(nlp).model.predict(docs), sequence_lengths(docs)
    if strategy.startswith("easiest"):
        expected = decode_easiest_first(scores, lengths, order, hardest=strategy == "easiest_last").labels
    else:
        expected = decode_decompositions(scores, lengths, order, strategy, prune=0.01).labels
    found = tagger_of(nlp).predict(docs)
    assert np.concatenate(found.label_ids).tolist() == expected.tolist() and set(expected.tolist()) == set(range(6))
    assert [len(labels) for labels in found.label_ids] == [len(doc) for doc in docs]
    assert [doc.to_bytes() for doc in docs] == before, "docs are not touched"


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labels_do_not_depend_on_the_batch(strategy):
    nlp = ready(2, strategy)
    n = len(random_docs(nlp, 40))

    def labels_of(order, batch_size):
        docs = random_docs(nlp, 40)
        found = list(tagger_of(nlp).pipe((docs[i] for i in order), batch_size=batch_size))
        assert all(a is docs[i] for a, i in zip(found, order, strict=True))
        return [[token.tag_ for token in doc] for doc in docs]

    expected = [[token.tag_ for token in tagger_of(nlp)(doc)] for doc in random_docs(nlp, 40)]
    assert {tag for tags in expected for tag in tags} == set(LABELS)
    for batch_size in (3, 1000):
        assert labels_of(range(n), batch_size) == expected
    assert labels_of(np.random.default_rng(0).permutation(n).tolist(), 13) == expected


def test_pruning():
    """With prune = 1 only the labels that are best without neighbours are left."""
    nlp = trained(30, of(CHAIN), strategy="full_bidirectional", model=local(["lower[0]", "label[-1]", "label[1]"]))
    docs = [doc_of(nlp, text) for text in ("x x x a", "a x x x", "x x x x x b")]
    scores, lengths = tagger_of(nlp).model.predict(docs), sequence_lengths(docs)
    found = {}
    for prune in (0.0, 0.01, 1.0):
        tagger_of(nlp).prune = prune
        found[prune] = np.concatenate(tagger_of(nlp).predict(docs).label_ids).tolist()
        assert (
            found[prune] == decode_decompositions(scores, lengths, 2, "full_bidirectional", prune=prune).labels.tolist()
        )
    assert found[0.0] == found[0.01] != found[1.0]


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", ["easiest_first", "easiest_last"])
def test_decisions(strategy, order):
    nlp = trained(strategy=strategy, save_decisions=True, model=local(order=order))
    docs = random_docs(nlp)
    lengths = sequence_lengths(docs)
    hardest = strategy == "easiest_last"
    path = decode_easiest_first(tagger_of(nlp).model.predict(docs), lengths, order, hardest=hardest)
    expected = decision_order(path, hardest=hardest)
    found = [doc._.hoseq_decisions[NAME] for doc in tagger_of(nlp).pipe(docs, batch_size=7)]
    order_, probabilities = (np.concatenate([each[key] for each in found]) for key in ("order", "probabilities"))
    assert order_.tolist() == expected.tolist()
    assert probabilities == pytest.approx(np.exp(path.log_probabilities), rel=1e-5)
    assert probabilities.dtype == np.float32 and 0 < probabilities.min() <= probabilities.max() <= 1
    for sentence in np.split(order_, np.cumsum(lengths)[:-1]):
        assert sorted(sentence.tolist()) == list(range(1, len(sentence) + 1))
    assert [len(each["order"]) for each in found] == [len(doc) for doc in docs]
    assert order_.tolist() != [i + 1 for length in lengths for i in range(length)]


def test_decisions_of_the_neighbouring_component():
    nlp = trained(save_decisions=True)
    nlp.add_pipe(NAME, name="second", source=trained(save_decisions=True))
    nlp.rename_pipe("second", "other")
    doc = nlp("the cat runs")
    assert set(doc._.hoseq_decisions) == {NAME, "other"}
    assert doc._.hoseq_decisions["other"]["probabilities"].tolist() == [1, 1, 1], "labels are set already"
    plain = trained()
    assert (tagger_of(plain)(doc_of(plain, "the cat"))._.hoseq_decisions or {}) == {}


def test_decisions_of_chunks():
    nlp = chunker(save_decisions=True)
    doc = tagger_of(nlp)(doc_of(nlp, "dogs run ."))
    assert sorted(doc._.hoseq_decisions[NAME]["order"].tolist()) == [1, 2, 3]
    assert chunks_on(doc) == [(0, 1, "NP"), (1, 2, "VP")]


def test_nothing_to_label():
    nlp = ready()
    assert [[t.tag_ for t in doc] for doc in tagger_of(nlp).pipe([Doc(nlp.vocab), Doc(nlp.vocab)])] == [[], []]
    assert [labels.tolist() for labels in tagger_of(nlp).predict([Doc(nlp.vocab)]).label_ids] == [[]]
    assert tagger_of(nlp).predict([]).label_ids == []
    assert set(tags_of(nlp, "unseen")) < set(LABELS)


def test_whitespace():
    nlp = ready()
    doc = Doc(nlp.vocab, words=["\n", "the", " ", "cat", "\n\n"])
    assert [t.tag_ for t in tagger_of(nlp)(doc)] == ["_SP", "D", "_SP", "N", "_SP"]


def test_strategies_that_were_not_trained():
    settings = {"model": local(train_for=["left_to_right"])}
    nlp = trained(strategy="left_to_right", **settings)
    assert predicted(nlp) == gold()
    assert tagger_of(nlp).model.shims[0].masks == [0, 3]
    for strategy, missing in [("easiest_first", "12"), ("right_to_left", "12"), ("dependency_network", "15")]:
        other = blank(strategy=strategy, **settings)
        tagger_of(other).from_bytes(tagger_of(nlp).to_bytes())
        with pytest.raises(ValueError, match=rf"\[HS093\].*{missing}.*train_for"):
            tags_of(other, "the cat runs")


def test_decisions_of_empty_docs_alone_and_among_others():
    nlp = trained(2, save_decisions=True)
    for docs in ([doc_of(nlp, "")], [doc_of(nlp, ""), doc_of(nlp, "a cat")], [doc_of(nlp, "a cat"), doc_of(nlp, "")]):
        for doc in tagger_of(nlp).pipe(docs):
            found = doc._.hoseq_decisions[NAME]
            assert len(found["order"]) == len(found["probabilities"]) == len(doc)
