"""A tiny corpus with lemmas, and lemmatizers trained on it."""

import spacy
from spacy.tokens import Doc
from spacy.training import Example

NAME = "hoseq_lemmatizer"
CORPUS = [  # word, part of speech, lemma
    "She|PRON|she saw|VERB|see ponies|NOUN|pony in|ADP|in Rome|PROPN|Rome",
    "The|DET|the saw|NOUN|saw cuts|VERB|cut berries|NOUN|berry",
    "Rome|PROPN|Rome went|VERB|go to|ADP|to parties|NOUN|party",
    "He|PRON|he cuts|VERB|cut the|DET|the cherries|NOUN|cherry",
    "She|PRON|she cut|VERB|cut dogs|NOUN|dog and|CCONJ|and cats|NOUN|cat",
]


def rows_of(line):
    """Words, parts of speech, lemmas."""
    words, pos, lemmas = zip(*(part.split("|") for part in line.split(" ")), strict=True)
    return list(words), list(pos), list(lemmas)


def analyzed(nlp, line):
    """With parts of speech, as a component before the lemmatizer gives them."""
    words, pos, _ = rows_of(line)
    return Doc(nlp.vocab, words=words, pos=pos)


def gold_doc(nlp, line):
    words, pos, lemmas = rows_of(line)
    return Doc(nlp.vocab, words=words, pos=pos, lemmas=lemmas)


def examples_of(nlp, corpus=CORPUS):
    return [Example(analyzed(nlp, line), gold_doc(nlp, line)) for line in corpus]


def blank(**config):
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config=config)
    return nlp


def trained(n_updates=20, lexicon=None, **config):
    nlp = blank(**config)
    nlp.get_pipe(NAME).initialize(lambda: examples_of(nlp), nlp=nlp, lexicon=lexicon)
    for _ in range(n_updates):
        nlp.update(examples_of(nlp))
    return nlp


def said(doc):
    return [token.lemma_ for token in doc]
