"""Entities: `doc.ents` as gold chunks of `hoseq_chunker`, as constraints, and as result."""

from functools import partial

import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.components.targets.chunk_tags import ChunkTags
from spacy_hoseq.features.sequences import words_of

from ..builders import doc_of
from .chunker_helpers import (
    CORPUS,
    NAME,
    REPRESENTATIONS,
    TEXTS,
    TYPES,
    Enumerated,
    blank,
    chunker_of,
    examples_of,
    gold,
    on,
    random_chunker,
    scores_on,
    trained,
)

NER_SCORER = {"@scorers": "spacy.ner_scorer.v1"}
WORDS = [("ab", "T", [(0, 1, "NP")]), ("cd ef", "T T", [(0, 2, "VP")])]


def entity_examples(nlp, corpus=CORPUS):
    texts = [(doc_of(nlp, text), doc_of(nlp, text), chunks) for text, _, chunks in corpus]
    return [Example(x, with_entities(y, chunks)) for x, y, chunks in texts]


def with_entities(doc, entities, **settings):
    doc.set_ents([Span(doc, *entity) for entity in entities], **settings)
    return doc


def entities_on(doc):
    return [(entity.start, entity.end, entity.label_) for entity in doc.ents]


def finder(n_updates=15, examples=entity_examples, **config):
    config = {"annotate_ents": True, "scorer": NER_SCORER, **config}
    return trained(n_updates=n_updates, examples=examples, **config)


def random_finder(seed=0, corpus=CORPUS, **config):
    examples = partial(examples_of, corpus=corpus)
    return random_chunker(seed=seed, examples=examples, annotate_ents=True, **config)


def test_entities_are_not_touched_without_the_setting():
    nlp = trained()
    doc = chunker_of(nlp)(with_entities(doc_of(nlp, TEXTS[0]), [(0, 7, "ODD")]))
    assert entities_on(doc) == [(0, 7, "ODD")] and on(doc) == gold()[0]
    with pytest.raises(ValueError, match=r"\[HS069\].*have: ents"):
        blank().initialize(lambda: entity_examples(nlp))
    assert not nlp(TEXTS[0]).ents


def test_span_groups_come_before_entities():
    """Entities are gold chunks where there is no such group only."""

    def examples(nlp):
        groups, entities = examples_of(nlp), entity_examples(nlp)
        for eg in groups[:3]:
            with_entities(eg.reference, [(0, len(eg.reference), "WRONG")])
        return [*groups[:3], *entities[3:]]

    nlp = finder(examples=examples)
    assert chunker_of(nlp).labels == TYPES and [entities_on(nlp(text)) for text in TEXTS] == gold()


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_entities_are_read_as_they_are_aligned(representation):
    """Tokens that are the same need no alignment, which takes long."""
    nlp = blank()
    for text, _, chunks in [*CORPUS, *WORDS]:
        example = Example(doc_of(nlp, text), with_entities(doc_of(nlp, text), chunks))
        letters = dict(zip("UBILO", REPRESENTATIONS[representation] + "O", strict=True))
        strings = example.reference.vocab.strings
        expected = [letters[tag[0]] + tag[1:] for tag in example.get_aligned_ner()]
        found = ChunkTags("", representation, with_entities=True).aligned(example)
        assert [strings[value] for value in found] == expected
    words = doc_of(nlp, "ab cd ef")
    blocked = with_entities(doc_of(nlp, "ab cd ef"), [], blocked=[words[1:2]])
    missing = with_entities(doc_of(nlp, "ab cd ef"), [(0, 1, "NP")], default="missing")
    other = with_entities(doc_of(nlp, "ab cdef"), [(0, 1, "NP")])
    for reference, known in ((blocked, [1, 0, 1]), (missing, [1, 0, 0]), (other, [1, 1, 1])):
        tags = ChunkTags("", representation, with_entities=True)
        values = tags.aligned(Example(words, reference))
        assert (values > 0).tolist() == [bool(each) for each in known]


def test_docs_without_entity_annotation():
    """ent_iob 0 everywhere: nothing is known."""
    nlp = random_finder(corpus=WORDS)
    example = Example(doc_of(nlp, "ab cd"), doc_of(nlp, "ab cd"))
    assert chunker_of(nlp).update([example])[NAME] == 0.0
    reference = with_entities(doc_of(nlp, "ab cd ef"), [(0, 1, "NP")], default="missing")
    expected = Enumerated(nlp, doc_of(nlp, "ab cd ef")).given_tags("U-NP _ _")
    found = chunker_of(nlp).update([Example(doc_of(nlp, "ab cd ef"), reference)])[NAME]
    assert found == pytest.approx(expected.loss, rel=1e-4)
    with pytest.raises(ValueError, match=r"\[HS069\].*, ents; .* have: nothing"):
        example = Example(doc_of(nlp, "ab cd"), doc_of(nlp, "ab cd"))
        blank(annotate_ents=True).initialize(lambda: [example])


MISALIGNED = [
    ("ab|cd|ef", "a|b|cd|ef", [(0, 2, "NP"), (2, 3, "NP")], "U-NP U-NP O"),
    ("ab|cd|ef", "a|b|cd|ef", [(0, 3, "NP")], "B-NP L-NP O"),
    ("a|b|cd|ef", "ab|cd|ef", [(0, 1, "NP"), (1, 3, "VP")], "B-NP L-NP B-VP L-VP"),
    ("ab|cd|ef", "a|b|cd|ef", [(0, 1, "NP"), (3, 4, "VP")], "_ O U-VP"),
]


@pytest.mark.parametrize("predicted, reference, entities, known", MISALIGNED)
def test_gold_entities_on_other_tokens(predicted, reference, entities, known):
    nlp = random_finder(corpus=WORDS)
    texts = predicted.split("|"), reference.split("|")
    docs = [Doc(nlp.vocab, words=words, spaces=[False] * len(words)) for words in texts]
    expected = Enumerated(nlp, docs[0].copy()).given_tags(known)
    found = chunker_of(nlp).update([Example(docs[0], with_entities(docs[1], entities))])[NAME]
    assert found == pytest.approx(expected.loss, rel=1e-4)


PRESET = [[(0, 1, "NP")], [(1, 3, "VP")], [(0, 2, "NP"), (2, 3, "NP")]]
PRESET += [[(1, 2, "NP"), (3, 4, "VP")], [(0, 4, "NP")]]


@pytest.mark.long
@pytest.mark.parametrize("preset", PRESET)
@pytest.mark.parametrize("model", ["words", "patterns"])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_entities_that_are_set_are_found_again(representation, model, preset):
    """All else is the best beside them, and scores are probabilities beside them."""
    for seed in range(6):
        nlp = random_finder(seed, representation=representation, model=model)
        expected = Enumerated(nlp, doc_of(nlp, "dogs the cat run"))
        expected.given(lambda chunks, _: set(preset) <= set(chunks))
        doc = chunker_of(nlp)(with_entities(doc_of(nlp, "dogs the cat run"), preset))
        assert on(doc) == entities_on(doc) == expected.best()[0][0]
        assert scores_on(doc) == pytest.approx([expected.probability(c) for c in on(doc)], abs=1e-6)
        (best,) = chunker_of(nlp).top_k([with_entities(doc_of(nlp, "dogs the cat run"), preset)], 3)
        assert [result.spans for result in best] == expected.best(3)[0]


@pytest.mark.long
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_entities_of_an_unknown_type_stay(representation):
    """No chunk reaches into them; they are entities, but no chunks."""
    for seed in range(4):
        nlp = random_finder(seed, representation=representation)
        expected = Enumerated(nlp, doc_of(nlp, "dogs the cat run"))
        expected.given(lambda chunks, _: not any(first < 3 and end > 1 for first, end, _ in chunks))
        doc = chunker_of(nlp)(with_entities(doc_of(nlp, "dogs the cat run"), [(1, 3, "ODD")]))
        assert on(doc) == expected.best()[0][0]
        assert scores_on(doc) == pytest.approx([expected.probability(c) for c in on(doc)], abs=1e-6)
        assert entities_on(doc) == sorted([(1, 3, "ODD"), *on(doc)])


def test_span_group_that_is_set_and_entities_that_are_not():
    nlp = finder()
    doc = chunker_of(nlp)(doc_of(nlp, TEXTS[1], chunks=[(0, 2, "ODD")]))
    assert on(doc) == [(0, 2, "ODD")] and entities_on(doc) == gold()[1]


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_what_follows_an_entity_begins_anew(representation):
    """Also in iob2, where the tag of its last word could go on."""
    chunker = chunker_of(blank(representation=representation, annotate_ents=True))
    for name in TYPES:
        chunker.add_label(name)
    doc = with_entities(doc_of(blank(), "dogs the cat run"), [(0, 2, "NP")])
    after = chunker.permitted(words_of([doc]), preset=True)[2]
    permitted = {tag for tag, here in zip(chunker.tags, after, strict=True) if here}
    assert permitted == {tag for tag in chunker.tags if tag[0] in "OBUS"}


def test_constraints_are_not_for_training():
    nlp = random_finder()
    predicted = with_entities(doc_of(nlp, TEXTS[1]), [(0, 3, "VP")])
    known = Example(doc_of(nlp, TEXTS[1]), with_entities(doc_of(nlp, TEXTS[1]), gold()[1]))
    preset = Example(predicted, with_entities(doc_of(nlp, TEXTS[1]), gold()[1]))
    plain, preset = (chunker_of(nlp).update([example])[NAME] for example in (known, preset))
    assert plain == preset


@pytest.mark.parametrize("entity", [(1, 3, "NP"), (0, 4, "VP")])
def test_entities_across_the_end_of_a_sentence(entity):
    """Set by someone else, before the sentences were. They stay."""
    nlp = finder()
    doc = with_entities(doc_of(nlp, "dogs the cat run", sent_starts=[1, 0, 1, 0]), [entity])
    assert entity in entities_on(chunker_of(nlp)(doc))


def test_blocked_tokens():
    """As in spaCy's test_block_ner: tokens that no entity can have."""
    nlp = finder()
    doc = doc_of(nlp, TEXTS[1])
    doc.set_ents([], blocked=[doc[0:1]], default="unmodified")
    chunker_of(nlp)(doc)
    assert entities_on(doc) == gold()[1][1:]
    assert [token.ent_iob_ for token in doc] == ["B", "B", "O"] and doc[0].ent_type_ == ""
