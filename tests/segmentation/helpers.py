"""A tiny corpus of words, and tokenizers trained on it. Sentences were written for these tests."""

from functools import cache

import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_hoseq.readers import corpus
from spacy_hoseq.segmentation.corpus import make_units

from ..builders import learn

SENTENCES = [
    [("我们", "PN"), ("喝", "VV"), ("茶", "NN"), ("。", "PU")],
    [("他们", "PN"), ("在", "IN"), ("学校", "NN"), ("学习", "VV"), ("。", "PU")],
    [("学生", "NN"), ("喜欢", "VV"), ("喝", "VV"), ("绿茶", "NN"), ("。", "PU")],
    [("我", "PN"), ("买", "VV"), ("了", "AS"), ("iPhone", "FW"), ("12", "CD"), ("。", "PU")],
    [("2008", "CD"), ("年", "NN"), ("学校", "NN"), ("开", "VV"), ("了", "AS"), ("。", "PU")],
]
TEXTS = ["".join(word for word, _ in sentence) for sentence in SENTENCES]
TEXTS[3] = TEXTS[3].replace("iPhone12", "iPhone 12")
TEMPLATES = "bias folded[-1..1] folded[-1]+folded[0] folded[0]+folded[1] char_classes[0]".split()


def word_docs(vocab):
    pairs = [zip(*sentence, strict=True) for sentence in SENTENCES]
    return [Doc(vocab, words=words, tags=tags) for words, tags in pairs]


def saved_words(folder):
    path = folder / "words.spacy"
    DocBin(docs=word_docs(spacy.blank("zh").vocab)).to_disk(path)
    return path


def new_segmenter(**settings):
    """A pipeline with a tagger of units, not trained."""
    nlp = spacy.blank("zh")
    emissions = {"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": TEMPLATES}
    model = {"@architectures": "spacy_hoseq.HigherOrderTagger.v1", "patterns": None}
    model["emissions"] = emissions
    nlp.add_pipe("hoseq_tagger", config={"model": model, **settings})
    return nlp


def train(nlp, examples, epochs=12):
    fix_random_seed(0)
    learn(nlp, examples, epochs)


@cache
def segmenter_bytes(kinds, path):
    nlp = new_segmenter()
    train(nlp, list(corpus(path, augmenter=make_units(kinds))(nlp)))
    return nlp.config.to_bytes(), nlp.to_bytes(exclude=["vocab"])


def segmenter(path, kinds=""):
    nlp = new_segmenter()
    return nlp.from_bytes(segmenter_bytes(kinds, path)[1], exclude=["vocab"])


def pipeline(path, kinds=""):
    """A blank pipeline whose tokenizer cuts texts into words."""
    settings = {"@tokenizers": "spacy_hoseq.CharacterTokenizer.v1"}
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": settings}})
    nlp.tokenizer.use(segmenter(path, kinds))
    return nlp


def examples_of(path, kinds=""):
    examples = corpus(path, augmenter=make_units(kinds))(spacy.blank("zh"))
    return [Example(eg.predicted, eg.reference) for eg in examples]
