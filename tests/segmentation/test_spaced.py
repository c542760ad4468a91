"""Words and sentences of texts with spaces: labels say where both end."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.util import fix_random_seed, load_config
from spacy.vocab import Vocab

from spacy_hoseq.recipes import recipe
from spacy_hoseq.segmentation.corpus import (
    inner_beginnings,
    inner_ends,
    known_words,
    labelled_units,
)
from spacy_hoseq.segmentation.tokenizer import CharacterTokenizer
from spacy_hoseq.segmentation.units import cuts_at, inner_cuts, units_of

from ..builders import learn

SENTENCES = [
    ["I ", "do", "n't ", "know ", "Mr. ", "Smith", ". "],
    ["We ", "did", "n't ", "see ", "it ", "at ", "3.5 ", "p.m.", ". "],
    ["I ", "pay ", "3 000 ", "to ", "5 000 ", "days", ". "],
    # the sign within a name ends nothing
    ["She ", "does", "n't ", "see ", "Yes!No ", "e.g. ", "rent", "! "],
]


def doc_of(vocab, sentences):
    words = [word for sentence in sentences for word in sentence]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
    stripped, spaces = [word.strip() for word in words], [word.endswith(" ") for word in words]
    return Doc(vocab, words=stripped, spaces=spaces, sent_starts=starts)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("spaced") / "train.spacy"
    orders = [[SENTENCES[i], SENTENCES[k]] for i in range(4) for k in range(4)]
    DocBin(docs=[doc_of(Vocab(), order) for order in orders]).to_disk(path)
    return path


@pytest.fixture(scope="module")
def nlp(corpus):
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    folder = corpus.parent / "words.cfg"
    folder.write_text(recipe("words", "xx"), "utf8")
    config = load_config(folder, overrides=paths)
    fix_random_seed(0)
    segmenter = spacy.util.load_model_from_config(config, auto_fill=True)
    corpora = config.interpolate()["corpora"]
    settings = spacy.util.registry.resolve(corpora, schema=None, validate=False)
    segmenter.vocab.lookups = known_words(corpus, inner=True)
    learn(segmenter, list(settings["train"](segmenter)), 15)
    settings = {"@tokenizers": "spacy_hoseq.CharacterTokenizer.v1"}
    nlp = spacy.blank("xx", config={"nlp": {"tokenizer": settings}})
    nlp.tokenizer.use(segmenter)
    return nlp


def test_labels():
    doc = doc_of(Vocab(), [["It ", "rains", ". "], ["3.5 ", "cm"]])
    labels = [unit.tag_ for unit in labelled_units(doc, "last")]
    assert labels == ["S-W", "S-W", "S-LAST", "B-W", "I-W", "E-W", "S-LAST"]


def test_labels_of_words_with_white_space():
    doc = doc_of(Vocab(), [["about ", "3 000 ", "days ", "1 0"]])
    labels = [unit.tag_ for unit in labelled_units(doc, "last")]
    assert labels == ["S-W", "B-SPACED", "E-SPACED", "S-W", "B-SPACED", "E-SPACED"]


def test_words_end_within_runs_of_letters(corpus):
    vocab = Vocab()
    vocab.lookups = known_words(corpus, inner=True)
    units = units_of("Don't own n't", inner_cuts(vocab))
    assert units.of("Don't own n't") == ["Do", "n", "'", "t", "own", "n", "'", "t"]
    assert inner_cuts(Vocab()) is None


def test_words_end_after_beginnings_of_runs():
    """Of any run that begins so, where no end cuts."""
    sentences = [["le", noun + " "] for noun in ("tiul", "dam", "helek")] + [["tiul", "o "]] * 3
    docs = [doc_of(Vocab(), sentences), doc_of(Vocab(), [["tiul ", "lema "]] * 3)]
    ends = inner_ends(docs)
    assert ends == ["o"] and inner_beginnings(docs, ends) == ["le"]
    units = units_of("Leshir le ole tiulo", cuts_at(ends, ["le"]))
    assert units.of("Leshir le ole tiulo") == ["Le", "shir", "le", "ole", "tiul", "o"]


def cut(doc):
    return [[token.text_with_ws for token in sentence] for sentence in doc.sents]


def test_words_and_sentences_of_the_corpus(nlp):
    text = "".join("".join(sentence) for sentence in SENTENCES).strip()
    doc = nlp(text)
    assert doc.text == text
    expected = [[*sentence] for sentence in SENTENCES]
    expected[-1][-1] = "!"
    assert cut(doc) == expected


def test_blank_lines_end_sentences(nlp):
    doc = nlp("She does\n \nWe see it\nat rent!")
    words = [[token.text for token in sentence if not token.is_space] for sentence in doc.sents]
    assert words == [["She", "does"], ["We", "see", "it", "at", "rent", "!"]]


def test_saved(nlp, tmp_path):
    nlp.to_disk(tmp_path / "saved")
    copies = [spacy.load(tmp_path / "saved"), spacy.blank("xx")]
    copies[1].tokenizer = CharacterTokenizer(copies[1].vocab).from_bytes(nlp.tokenizer.to_bytes())
    for text in ("We don't pay Mr. Smith. She sees it!", "", " I\n\n know"):
        assert [cut(copy(text)) for copy in copies] == [cut(nlp(text))] * 2
