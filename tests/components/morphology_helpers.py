"""A tiny corpus with parts of speech, features and tags, and morphologizers trained on it."""

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from ..builders import learn

NAME = "hoseq_morphologizer"
CORPUS = [  # word, tag, part of speech, features
    "magna|A NOM|ADJ|Case=Nom|Number=Sing urbs|N.nom|NOUN|Case=Nom|Number=Sing ardet|V|VERB|Number=Sing .|,|PUNCT|",
    "magnam|A ACC|ADJ|Case=Acc|Number=Sing urbem|N.acc|NOUN|Case=Acc|Number=Sing videt|V|VERB|Number=Sing .|,|PUNCT|",
    "magnae|A NOM|ADJ|Case=Nom|Number=Plur urbes|N.nom|NOUN|Case=Nom|Number=Plur ardent|V|VERB|Number=Plur .|,|PUNCT|",
    "urbes|N.acc|NOUN|Case=Acc|Number=Plur videt|V|VERB|Number=Sing .|,|PUNCT|",
]


def rows_of(line):
    """Words, tags, parts of speech, features. (In tags, "." stands for what features are written with.)"""
    rows = [part.split("|", 3) for part in line.replace("A ", "A=").split(" ")]
    words, tags, pos, morphs = zip(*rows, strict=True)
    return list(words), [tag.replace(".", "|") for tag in tags], list(pos), list(morphs)


def gold_doc(nlp, line):
    words, tags, pos, morphs = rows_of(line)
    return Doc(nlp.vocab, words=words, tags=tags, pos=pos, morphs=morphs)


def examples_of(nlp, corpus=CORPUS):
    return [Example(Doc(nlp.vocab, words=rows_of(line)[0]), gold_doc(nlp, line)) for line in corpus]


def blank(**config):
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config=config)
    return nlp


def trained(n_updates=20, corpus=CORPUS, **config):
    nlp = blank(**config)
    return learn(nlp, examples_of(nlp, corpus), n_updates)


def said(doc):
    """Tags, parts of speech, features."""
    return [t.tag_ for t in doc], [t.pos_ for t in doc], [str(t.morph) for t in doc]
