"""docs/patterns-way.md: its training, and the numbers of its pattern at every place on the way."""

import re

import numpy as np
import pytest
import spacy
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from thinc.api import Config

from spacy_hoseq.decoders import Weights, best_labels
from spacy_hoseq.decoders.problem import TUNING
from spacy_hoseq.decoders.pruning.bounds import Bounds
from spacy_hoseq.decoders.pruning.candidates import candidate_labels
from spacy_hoseq.decoders.pruning.pruned import open_windows, plan
from spacy_hoseq.layers.structured import HeadScorer
from spacy_hoseq.patterns import PatternFeatures
from spacy_hoseq.pipelines.recipes import recipe
from spacy_hoseq.readers import corpus

from .pages import PAGES, ROOT, blocks

PAGE = "docs/patterns-way.md"
PATTERN = ("DT", "JJ", "NN")
TOKEN = 10  # "one"


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """Trained by the settings of the page's command."""
    (commands,) = blocks(PAGE, "bash")
    settings = dict(re.findall(r"--([\w.]+) (\S+)", commands))
    overrides = {k: int(v) if v.isdigit() else str(ROOT / v) for k, v in settings.items()}
    config = Config().from_str(recipe("higher-order"), overrides=overrides, interpolate=False)
    folder = tmp_path_factory.mktemp("model")
    with open(folder / "log", "w") as log:
        train(init_nlp(config), folder, stdout=log, stderr=log)
    return spacy.load(folder / "model-best").get_pipe("hoseq_tagger")


def says(*texts):
    """The page has these texts."""
    page = re.sub(r"\s+", " ", PAGES[PAGE])
    assert not [text for text in texts if text not in page]


@pytest.mark.long
def test_numbers_of_the_page(tagger):
    nlp = spacy.blank("en")
    gold = [eg.reference for eg in corpus(ROOT / "assets/en/train.conll")(nlp)]
    tags = [" ".join(token.tag_ for token in doc) for doc in gold]
    count = sum(len(re.findall(rf"(?<!\S){' '.join(PATTERN)}(?!\S)", line)) for line in tags)
    head = HeadScorer(tagger.model)
    features = PatternFeatures.from_arrays(head.shim.extra["patterns"])
    id_of = {label: i for i, label in enumerate(tagger.labels)}
    number = features.patterns.index(tuple(id_of[label] for label in PATTERN))
    says(f"tags of {len(gold)} sentences", f"occurs {count} times")
    says(f"of {len(features.patterns)} patt")
    says(f"pattern {number}, with weight {features.weight_of[number]}, everywhere")

    _, weights = head.weights(is_train=False)
    trie = weights.trie
    node = int(trie.node_of[number])
    weight = weights.node_weights[node]
    assert [tagger.labels[i] for i in trie.string(int(trie.parent[node]))] == ["DT", "JJ"]
    assert [tagger.labels[i] for i in trie.string(int(trie.fail[node]))] == ["JJ", "NN"]
    says(f"predicts: {weight:.2f}", f"node {node} stands", f"suffixes, is {weights.psi[node]:.2f}")

    examples = [eg for eg in corpus(ROOT / "assets/en/dev.conll")(nlp) if len(eg.predicted) > TOKEN]
    (example,) = [eg for eg in examples if eg.predicted[TOKEN - 1 : TOKEN + 1].text == "bad one"]
    doc = example.predicted
    potentials = tagger.read([doc]).potentials
    scores = potentials.scores[TOKEN].astype(float)
    noun, cardinal, pronoun = (id_of[label] for label in ("NN", "CD", "PRP"))
    bounds = weights.prepared(Bounds.of).over(np.array([cardinal]))[0]
    says(f"CD has {scores[cardinal]:.2f}, NN has {scores[noun]:.2f}")
    says(f"NN can have {bounds[noun]:.2f} more than CD")
    says(f"PRP has {scores[pronoun]:.2f} and could have at most {bounds[pronoun]:.2f}")

    candidates = candidate_labels(potentials.scores, weights.prepared(Bounds.of))
    is_open = candidates.counts > 1
    assert [doc[i].text for i in np.flatnonzero(is_open).tolist()] == ["Both", "one"]
    windows = open_windows(is_open, potentials.lengths, trie.max_length - 1)
    assert windows.tokens[-5:].tolist() == list(range(TOKEN - 2, TOKEN + 3))
    (part,) = plan(windows, candidates.counts, weights, None, TUNING)
    assert part.is_sparse and part.with_patterns
    says(f"Of {len(doc)} tokens two are open")

    adjective, comma = id_of["JJ"], id_of[","]
    trans = weights.trans.astype(float)
    after = [("NN", ",", "DT"), ("JJ", "NN", ","), PATTERN]
    by_string = dict(zip(features.patterns, weights.node_weights[trie.node_of], strict=True))
    gains = [by_string[tuple(id_of[label] for label in pattern)] for pattern in after]
    before = trans[adjective, noun] - trans[adjective, cardinal]
    after = trans[noun, comma] - trans[cardinal, comma]
    parts = [scores[noun] - scores[cardinal], before, after, *gains]
    says(*(f"{part:+.2f}" for part in parts), f"sum | {sum(parts):+.2f}")
    says(f"Without the pattern the sum is {sum(parts) - weight:.2f}")
    assert tagger.labels[best_labels(potentials)[TOKEN]] == "NN" == example.reference[TOKEN].tag_
    without = weights.node_weights.copy()
    without[node] = 0.0
    others = potentials._replace(weights=Weights(weights.trans, trie, without))
    assert tagger.labels[best_labels(others)[TOKEN]] == "CD"


def test_it_is_short():
    assert len(PAGES[PAGE].split()) <= 500
