"""A tiny corpus with tags and chunks, pipelines with a `hoseq_chunker`, and all ways to chunk a sentence."""

from functools import cache

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.patterns.sources import PatternFeatures

from ..builders import doc_of, layer
from ..cases import Case
from ..oracle import score_of
from .helpers import FREQUENT, TEMPLATES, sparse, tagger_model, with_average

NAME, TAGGER = "hoseq_chunker", "hoseq_tagger"
REPRESENTATIONS = {"iob2": "BBII", "bilou": "UBIL", "start_end": "SBIE"}  # only, first, inner, last
TYPES = ("NP", "VP")
CORPUS = [  # (text, tags, chunks); several chunks meet, one is of one token, one of three
    ("the old dog sees a cat .", "D A N V D N .", [(0, 3, "NP"), (3, 4, "VP"), (4, 6, "NP")]),
    ("dogs run .", "N V .", [(0, 1, "NP"), (1, 2, "VP")]),
    (
        "she gave him a cat .",
        "P V P D N .",
        [(0, 1, "NP"), (1, 2, "VP"), (2, 3, "NP"), (3, 5, "NP")],
    ),
    ("oh well .", "U U .", []),
    ("the run has been seen .", "D N V V V .", [(0, 2, "NP"), (2, 5, "VP")]),
]
TEXTS = [text for text, _, _ in CORPUS]
SCORES = ["tag_acc", "ents_f", "spans_chunks_f", "spans_phrases_f"]
UPSTREAM = ["upstream[0]", "upstream[-1]+upstream[0]", "upstream[0]+lower[1]"]


def listener(grad_factor=1.0, threshold=0.01, upstream=TAGGER):
    settings = {"upstream": upstream, "grad_factor": grad_factor, "threshold": threshold}
    return {"@architectures": "spacy_hoseq.MarginalListener.v1", **settings}


def listening_model(words=TEMPLATES, templates=UPSTREAM, patterns=None, **settings):
    """Words, and labels of the tagger."""
    second = {"@architectures": "spacy_hoseq.MarginalLinear.v1", "templates": templates}
    second = {**second, "upstream": listener(**settings)}
    emissions = layer("SumEmissions", first=sparse(words), second=second)
    return tagger_model(emissions, patterns)


ONLY_LABELS = {"words": ["bias"], "templates": ["upstream[-1..1]", "upstream[-1]+upstream[0]"]}
PATH = "model.emissions.second.upstream"  # of the listener in the config
KINDS = {"marginals": listening_model(grad_factor=0.0), "joint": listening_model()}
MODELS = {"words": tagger_model(), "patterns": tagger_model(patterns=FREQUENT), **KINDS}
MODELS["tags"] = tagger_model(sparse(["bias", "lower[0]", "tag[0]", "tag[-1]"]))


def blank(model="words", *, name=NAME, tagger=None, **config):
    """A pipeline with a chunker, and the tagger to which it listens; not initialized."""
    nlp = spacy.blank("xx")
    if tagger is not None or (isinstance(model, str) and model in KINDS):
        tagger_config = {"model": tagger_model(), "objective": "log_likelihood", **(tagger or {})}
        nlp.add_pipe(TAGGER, config=with_average(tagger_config))
    config = {"model": MODELS[model] if isinstance(model, str) else model, **config}
    nlp.add_pipe(NAME, name=name, config=with_average(config, True))
    return nlp


def chunker_of(nlp):
    return nlp.get_pipe(NAME)


def examples_of(nlp, corpus=CORPUS, key="chunks", *, given_tags=False, gold_tags=True):
    """given_tags: the predicted docs have them. gold_tags: the reference docs do."""
    examples = []
    for text, tags, chunks in corpus:
        doc = doc_of(nlp, text, tags=tags if given_tags else None)
        gold = doc_of(nlp, text, chunks=chunks, key=key, tags=tags if gold_tags else None)
        examples.append(Example(doc, gold))
    return examples


def train(nlp, n_updates=15, examples=examples_of, optimizer=None, **settings):
    """One update a batch of all examples. RETURNS the last losses."""
    optimizer, losses = optimizer or nlp.create_optimizer(), {}
    for _ in range(n_updates):
        losses = nlp.update(examples(nlp), sgd=optimizer, losses={}, **settings)
    return losses


def trained(model="words", n_updates=15, examples=examples_of, drop=0.0, seed=0, **config):
    nlp = blank(model, **config)
    nlp.config["training"]["seed"] = seed
    nlp.config["training"]["score_weights"] = dict.fromkeys(SCORES, 0.25)
    train(nlp, n_updates, examples, nlp.initialize(lambda: examples(nlp)), drop=drop)
    return nlp


@cache
def ready(model="words"):
    """A trained pipeline, shared by tests that do not change it."""
    return trained(model)


def on(doc, key="chunks"):
    return [(span.start, span.end, span.label_) for span in doc.spans[key]]


def scores_on(doc, key="chunks"):
    return doc.spans[key].attrs["scores"].tolist()


def through(nlp, texts=TEXTS):
    """The chunks of texts, and their scores, through the whole pipeline."""
    docs = list(nlp.pipe(doc_of(nlp, text) for text in texts))
    return [on(doc) for doc in docs], [scores_on(doc) for doc in docs]


def gold(corpus=CORPUS):
    return [chunks for _, _, chunks in corpus]


def with_random_weights(nlp, seed=0, scale=1.0):
    """The same pipeline, with other weights in every layer of every component."""
    rng = np.random.default_rng(seed)
    for _, component in nlp.pipeline:
        for shim in weights_in(component.model):
            for name, old in list(shim.parameters.items()):
                # as they are saved
                values = rng.normal(scale=scale, size=old.shape).astype(np.float16)
                values = (np.abs(values) if old.nonnegative else values).astype(old.values.dtype)
                if name == "table":
                    values[-1:] = 0  # the row of no feature
                shim.set(Parameter(name, values, nonnegative=old.nonnegative))
    return nlp


def random_chunker(model="words", seed=0, scale=1.0, examples=examples_of, **config):
    nlp = blank(model, average=False, **config)
    nlp.initialize(lambda: examples(nlp))
    return with_random_weights(nlp, seed, scale)


def random_docs(nlp, n=25, seed=0, longest=15):
    """Docs of known and unknown words, of all lengths, with and without sentence boundaries."""
    rng = np.random.default_rng(seed)
    words = sorted({*" ".join(TEXTS).split()}) + "12 unseen Zebra X1".split()
    docs = [Doc(nlp.vocab), Doc(nlp.vocab, words=["cat"])]
    for length in rng.integers(0, longest, size=n).tolist():
        is_divided = rng.random() < 0.5
        starts = [i == 0 or rng.random() < 0.3 for i in range(length)] if is_divided else None
        chosen = [words[i] for i in rng.integers(0, len(words), size=length)]
        docs.append(Doc(nlp.vocab, words=chosen, sent_starts=starts))
    return docs


# The definition: a sentence is chunked into pieces of one type each that do not overlap, in any way at all.


@cache
def all_chunkings(n, types=TYPES):
    """Every tuple of chunks (first, end, type) of n tokens."""
    if n == 0:
        return [()]
    found = list(all_chunkings(n - 1, types))  # the last token is outside
    for first in range(n):
        found += [(*before, (first, n, y)) for before in all_chunkings(first, types) for y in types]
    return found


def tags_by_hand(chunks, n, representation):
    tags = ["O"] * n
    only, start, inner, last = REPRESENTATIONS[representation]
    for first, end, name in chunks:
        for i in range(first, end):
            if end - first == 1:
                letter = only
            else:
                letter = start if i == first else last if i == end - 1 else inner
            tags[i] = f"{letter}-{name}"
    return tags


class Enumerated:
    """All chunkings of a Doc of one sentence, with their scores under the model's potentials."""

    def __init__(self, nlp, doc):
        chunker = chunker_of(nlp)
        self.tags, representation = chunker.tags, chunker.cfg["representation"]
        self.chunkings = all_chunkings(len(doc), chunker.labels)
        by_hand = [tags_by_hand(c, len(doc), representation) for c in self.chunkings]
        labels = [[self.tags.index(t) for t in tags] for tags in by_hand]
        self.labels = np.array(labels, np.int64).reshape(len(labels), len(doc))
        potentials = chunker.model.predict([doc])
        assert potentials.lengths.tolist() == [len(doc)]
        p = potentials
        case = Case(p.scores, p.trans, p.lengths, patterns=patterns_of(chunker))
        self.scores = score_of(case, self.labels)
        self.p = np.exp(self.scores - self.scores.max())
        self.p /= self.p.sum()

    def best(self, k=1):
        order = np.argsort(-self.scores, kind="stable")[:k]
        return [list(self.chunkings[i]) for i in order], self.scores[order]

    def given(self, is_possible):
        """Only chunkings of which it is true: everything is conditioned on them."""
        kept = [i for i, c in enumerate(self.chunkings) if is_possible(c, self.tags_of(i))]
        self.loss = -float(np.log(self.p[kept].sum()))
        self.chunkings, self.labels = [self.chunkings[i] for i in kept], self.labels[kept]
        self.scores, self.p = self.scores[kept], self.p[kept] / self.p[kept].sum()
        return self

    def given_tags(self, known):
        """Tags that are known, "_" where they are not. `loss` is that of the log-likelihood."""
        labels = known.split()
        pairs = [(i, known) for i, known in enumerate(labels) if known != "_"]
        return self.given(lambda _, tags: all(tags[i] == known for i, known in pairs))

    def tags_of(self, i):
        return [self.tags[y] for y in self.labels[i]]

    def probability(self, chunk):
        return sum(p for p, chunks in zip(self.p, self.chunkings, strict=True) if chunk in chunks)

    def marginals(self):
        every = range(len(self.tags))
        return np.array([[self.p[here == y].sum() for y in every] for here in self.labels.T])


def patterns_of(chunker):
    """Label patterns with their weights."""
    shim = chunker.model.shims[0]
    if "patterns" not in shim.parameters:
        return ()
    features = PatternFeatures.from_arrays(shim.extra["patterns"])
    weights = shim.values("patterns", is_train=False)[features.weight_of]
    pairs = zip(features.patterns, weights, strict=True)
    return tuple((tuple(map(int, p)), float(w)) for p, w in pairs)
