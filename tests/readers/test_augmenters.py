"""Texts in lower case and in capitals, with the annotation of the text as it is."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import registry

from spacy_hoseq.readers import corpus
from spacy_hoseq.readers.annotated import case_augmenter

N_TEXTS = 400


@pytest.fixture
def nlp():
    return spacy.blank("en")


def gold(nlp, number):
    words = ["Anna", f"Nr.{number}", "sees", "Oslo", "."]
    layers = {"tags": "NNP NN VBZ NNP .".split(), "pos": "PROPN NOUN VERB PROPN PUNCT".split()}
    layers |= {"morphs": ["Number=Sing", "", "Tense=Pres", "Number=Sing", ""]}
    layers |= {"lemmas": "Anna Nr. see Oslo .".split(), "sent_starts": [True] + [False] * 4}
    doc = Doc(nlp.vocab, words, [True, True, True, False, True], **layers)
    doc.set_ents([Span(doc, 0, 1, "PER"), Span(doc, 3, 4, "LOC")])
    doc.spans["chunks"] = [Span(doc, 0, 2, "NP")]
    return doc


def examples_of(nlp, augmenter):
    examples = [Example(each.copy(), each) for each in (gold(nlp, i) for i in range(N_TEXTS))]
    return [[found.reference for found in augmenter(nlp, each)] for each in examples]


def test_each_text_comes_as_it_is_and_some_once_more(nlp):
    texts = examples_of(nlp, case_augmenter(lower=0.3, upper=0.1))
    originals = [each[0].text for each in texts]
    assert originals == [gold(nlp, number).text for number in range(N_TEXTS)]
    copies = [(each[0].text, each[1].text) for each in texts if len(each) > 1]
    lower = [copy for text, copy in copies if copy == text.lower()]
    upper = [copy for text, copy in copies if copy == text.upper()]
    assert len(lower) + len(upper) == len(copies)
    assert 0.2 < len(lower) / N_TEXTS < 0.4
    assert 0.05 < len(upper) / N_TEXTS < 0.15


def test_the_seed_and_the_text_decide(nlp):
    def texts(seed):
        return [[doc.text for doc in each] for each in examples_of(nlp, case_augmenter(seed=seed))]

    assert texts(0) == texts(0)
    assert texts(0) != texts(1)


@pytest.mark.parametrize("shares", [(-0.1, 0.5), (0.6, 0.5)])
def test_shares_that_cannot_be(shares):
    with pytest.raises(ValueError, match="HS027"):
        case_augmenter(*shares)


def test_one_line_of_a_config(nlp, tmp_path):
    path = tmp_path / "train.spacy"
    DocBin(docs=[gold(nlp, number) for number in range(20)]).to_disk(path)
    line = {"@augmenters": "spacy_hoseq.case_augmenter.v1", "lower": 0.0, "upper": 1.0}
    block = {"@readers": "spacy_hoseq.corpus.v1", "path": str(path), "attributes": ["tag"]}
    reader = registry.resolve({"corpus": {**block, "augmenter": line}})["corpus"]
    examples = list(reader(nlp))
    plain = [eg.reference.text for eg in corpus(path, attributes=["tag"])(nlp)]
    assert [eg.reference.text for eg in examples[::2]] == plain
    assert [eg.predicted.text for eg in examples[1::2]] == [text.upper() for text in plain]
    assert all(eg.predicted[2].tag_ == "VBZ" for eg in examples)
