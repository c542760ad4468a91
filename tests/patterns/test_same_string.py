"""Pairs of mentions of one string, against a search for all pairs."""

import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.patterns.same_string import SameStringPairs

from .plain import spans_of

VOCAB = spacy.blank("zh").vocab
TAGS = ["O", "U-ORG", "B-ORG", "I-ORG", "L-ORG", "U-LOC", "B-LOC", "I-LOC", "L-LOC"]


def doc_of(text, **annotation):
    return Doc(VOCAB, words=list(text), spaces=[False] * len(text), **annotation)


def pairs(source, *docs):
    """(first, second, size) of each pair, and a check of the slots."""
    found = []
    for rule, first, slots in spans_of(source.fire(list(docs))):
        size = slots.index(2) + 1
        mention = [0, *[1] * (size - 2), 2]
        assert rule == 0 and slots == mention + [3] * (len(slots) - 2 * size) + mention
        found.append((first, first + len(slots) - size, size))
    return sorted(found)


def plain_pairs(words, min_size, max_size, max_distance):
    found = []
    for second in range(len(words)):
        for first in range(second):
            size = 0
            while second + size < len(words) and words[first + size] == words[second + size]:
                size += 1
            key = words[first : first + min_size]
            between = any(words[i : i + min_size] == key for i in range(first + 1, second))
            longer = first > 0 and words[first - 1] == words[second - 1]
            if min_size <= size <= max_size and 0 <= second - first - size <= max_distance and not between | longer:
                found.append((first, second, size))
    return found


@pytest.mark.parametrize("min_size, max_size, max_distance", [(2, 12, 40), (2, 3, 5), (3, 4, 9)])
def test_pairs_are_those_of_a_search(min_size, max_size, max_distance):
    rng, n_found = np.random.default_rng(0), 0
    for n in (0, 1, 3, 30, 30, 60):
        starts = [i == 0 or rng.random() < 0.03 for i in range(n)]
        doc = doc_of("".join(rng.choice(list("江北大"), size=n)), sent_starts=starts)
        expected = []
        for sentence in doc.sents if n else ():
            words = [token.text for token in sentence]
            found = plain_pairs(words, min_size, max_size, max_distance)
            expected += [(a + sentence.start, b + sentence.start, size) for a, b, size in found]
        assert pairs(SameStringPairs(["ORG"], min_size, max_size, max_distance), doc) == sorted(expected)
        n_found += len(expected)
    assert n_found > 0


def test_a_name_twice():
    doc = doc_of("江北大学和红叶公司,江北大学在")
    assert pairs(SameStringPairs(["ORG"]), doc_of(""), doc) == [(0, 10, 4)]


def test_definition():
    features = SameStringPairs(["LOC", "ORG"]).define(TAGS, [])
    sets, slots, n_slots, weight_of, rule_of = features.configurations
    names = [[tag for tag, inside in zip(TAGS, row, strict=True) if inside] for row in sets.tolist()]
    assert [names[i] for i in slots[:4]] == [["B-LOC"], ["I-LOC"], ["L-LOC"], TAGS]
    assert [names[i] for i in slots[4:]] == [["B-ORG"], ["I-ORG"], ["L-ORG"], TAGS]
    assert n_slots.tolist() == [4, 4] and weight_of.tolist() == [0, 1] and rule_of.tolist() == [0, 0]
    assert features.patterns == []


@pytest.mark.parametrize("settings", [{"types": []}, {"min_size": 1}, {"max_size": 1}, {"max_distance": -1}])
def test_settings_that_cannot_work(settings):
    with pytest.raises(ValueError, match="HS034.*same_string_pairs"):
        SameStringPairs(**{"types": ["ORG"], **settings})


def test_tags_that_do_not_tell_where_a_chunk_ends():
    with pytest.raises(ValueError, match="HS034.*bilou"):
        SameStringPairs(["ORG"]).define(["O", "B-ORG", "I-ORG"], [])


def test_chunker_finds_the_name_again():
    """What stands beside the first mention says that it is a name, nothing does at the second."""
    nlp = spacy.blank("zh")
    patterns = {"@misc": "spacy_hoseq.same_string_pairs.v1", "types": ["ORG"]}
    emissions = {"templates": ["bias", "orth[-1]", "orth[1]"]}
    settings = {"model": {"patterns": patterns, "emissions": emissions}, "annotate_ents": True}
    chunker = nlp.add_pipe("hoseq_chunker", config=settings)
    examples = []
    for a, b in ("江北", "红叶", "青山"):
        doc = doc_of(f"在{a}{b}社。{a}{b}")
        predicted = doc_of(doc.text)
        doc.set_ents([spacy.tokens.Span(doc, i, i + 2, "ORG") for i in (1, 5)])
        examples.append(spacy.training.Example(predicted, doc))
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    doc = nlp(doc_of("在长河社。长河"))
    assert [(ent.start, ent.end) for ent in doc.ents] == [(1, 3), (5, 7)]
    (best, score), *_ = chunker.top_k([doc_of("在长河社。长河")], 2)[0]
    assert best == [(1, 3, "ORG"), (5, 7, "ORG")] and all(0 < p <= 1 for p in doc.spans["chunks"].attrs["scores"])


def test_pickling():
    doc, source = doc_of("江北大学和江北大学"), SameStringPairs(["ORG"])
    assert pairs(pickle.loads(pickle.dumps(source)), doc) == pairs(source, doc) == [(0, 5, 4)]
