"""A chunker that listens, in pipelines: a missing tagger, sourcing, renaming, disabling, replaced listeners."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_hoseq.layers.listener import MarginalListener
from spacy_hoseq.layers.upstream import UPSTREAM
from spacy_hoseq.layers.weights import weights_in

from ..builders import doc_of, layer, tagger_of
from . import lemma_helpers
from .chunker_helpers import (
    KINDS,
    NAME,
    ONLY_LABELS,
    PATH,
    TAGGER,
    TEXTS,
    blank,
    chunker_of,
    examples_of,
    gold,
    listening_model,
    on,
    random_docs,
    ready,
    scores_on,
    through,
    train,
    trained,
    with_random_weights,
)
from .helpers import ADAGRAD, ALL_PATTERNS, reloaded, tagger_model


def assert_linked(nlp, name=NAME):
    """The tagger knows the very layer in the chunker's model."""
    nodes = nlp.get_pipe(name).model.walk()
    layers = [node for node in nodes if isinstance(node, MarginalListener)]
    assert len(layers) == 1 and tagger_of(nlp).listener_map[name] == layers


@pytest.mark.parametrize("kind", ["missing", "tagger", "hoseq_bidirectional_tagger"])
def test_no_tagger_to_listen_to(kind):
    nlp = spacy.blank("xx")
    if kind != "missing":
        nlp.add_pipe(kind, name=TAGGER)
    there = "none" if kind == "missing" else TAGGER
    problem = rf"listens to .*, which is no `hoseq_tagger` or `hoseq_chunker` that comes before it .*: {there}\)"
    with pytest.raises(ValueError, match=rf"\[HS102\] The component \"hoseq_chunker\" {problem}"):
        nlp.add_pipe(NAME, config={"model": listening_model()})


def test_tagger_that_comes_later_is_refused():
    nlp = spacy.blank("xx")
    nlp.add_pipe(TAGGER, config={"model": tagger_model()})
    nlp.add_pipe(NAME, config={"model": listening_model()}, first=True)
    with pytest.raises(ValueError, match="HS102"):
        nlp.initialize(lambda: examples_of(nlp))


@pytest.mark.long
def test_prediction_without_the_tagger(tmp_path):
    nlp = trained("joint")
    with nlp.select_pipes(disable=TAGGER):
        with pytest.raises(ValueError, match=r"\[HS100\] The Doc 'the old.*\"hoseq_tagger\""):
            nlp(TEXTS[0])
        with pytest.raises(ValueError, match="HS100"):
            nlp.update(examples_of(nlp))
    assert through(nlp)[0] == gold()
    with nlp.select_pipes(enable=TAGGER):
        doc = nlp(TEXTS[0])
    assert not doc.spans and on(chunker_of(nlp)(doc)) == gold()[0]
    assert on(chunker_of(nlp)(doc_of(nlp, ""))) == []
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path, disable=[TAGGER])
    with pytest.raises(ValueError, match="HS100"):
        loaded(TEXTS[0])
    loaded.enable_pipe(TAGGER)
    assert through(loaded) == through(nlp)
    with pytest.raises(ValueError, match="HS102"):
        spacy.load(tmp_path, exclude=[TAGGER])


def test_what_nobody_hears_is_not_left_on_the_doc():
    doc = tagger_of(ready("marginals"))(doc_of(ready("marginals"), TEXTS[0]))
    assert [name for name, _ in UPSTREAM[doc]] == [TAGGER] and not doc.user_data
    nlp = trained("words")
    nlp.add_pipe(TAGGER, source=trained("marginals"))
    assert nlp(TEXTS[0]) not in UPSTREAM


def test_docs_that_were_annotated_elsewhere():
    """A chunker alone on Docs that were saved after its tagger: it asks the tagger once more."""
    nlp = trained("marginals")
    expected = through(nlp)
    with nlp.select_pipes(disable=NAME):
        saved = [doc.to_bytes() for doc in nlp.pipe(TEXTS)]
    docs = [Doc(nlp.vocab).from_bytes(data) for data in saved]
    assert not any(doc.user_data for doc in docs)
    assert [on(doc) for doc in chunker_of(nlp).pipe(docs)] == [on(doc) for doc in nlp.pipe(TEXTS)]
    assert through(nlp) == expected


@pytest.mark.long
@pytest.mark.parametrize("kind", [*KINDS, "label patterns"])
def test_replaced_listener(kind, tmp_path):
    tagger = {"model": tagger_model(patterns=ALL_PATTERNS)}
    settings = {"tagger": tagger} if kind == "label patterns" else {}
    nlp = trained("joint" if settings else kind, **settings)
    docs = random_docs(nlp, 20)
    found = [(on(doc), scores_on(doc)) for doc in nlp.pipe(doc.copy() for doc in docs)]
    before = through(nlp), found
    nlp.replace_listeners(TAGGER, NAME, [PATH])
    assert tagger_of(nlp).listeners == []
    nlp.to_disk(tmp_path)
    fresh = spacy.load(tmp_path)
    for pipeline in (nlp, fresh):
        assert through(pipeline) == before[0]
        pipeline.remove_pipe(TAGGER)
        found = [(on(doc), scores_on(doc)) for doc in pipeline.pipe(random_docs(pipeline, 20))]
        assert (through(pipeline), found) == before
    train(fresh, 5)
    assert through(fresh)[0] == gold() and through(reloaded(fresh)) == through(fresh)


@pytest.mark.parametrize("kind", KINDS)
def test_learning_after_the_listener_was_replaced(kind):
    """The chunker's own copy of the tagger learns as the tagger did: through its chunks, or not at all."""
    nlp = trained(kind, 3, average=False, tagger={"average": False})
    nlp.replace_listeners(TAGGER, NAME, [PATH])
    before = tagger_of(nlp).model.to_bytes(), own_tagger(nlp).to_bytes()
    assert before[0] == before[1]
    for _ in range(2):
        nlp.update(examples_of(nlp), exclude=[TAGGER])
    assert tagger_of(nlp).model.to_bytes() == before[0]
    assert (own_tagger(nlp).to_bytes() != before[1]) == (kind == "joint")


def test_listener_of_a_lemmatizer_is_not_replaced():
    """The copy would find lemmas that no word can have: which scripts fit is known to the component."""
    nlp = spacy.blank("xx")
    lemmatizer = nlp.add_pipe("hoseq_lemmatizer", config={"objective": "log_likelihood"})
    model = listening_model(upstream="hoseq_lemmatizer", **ONLY_LABELS)
    nlp.add_pipe(NAME, config={"model": model})
    docs = [lemma_helpers.gold_doc(nlp, line) for line in lemma_helpers.CORPUS]
    for doc in docs:
        doc.spans["chunks"] = [Span(doc, 0, 1, "NP")]
    examples = [Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc) for doc in docs]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    with pytest.raises(ValueError, match=r"\[HS103\].*candidates of each word"):
        nlp.replace_listeners(lemmatizer.name, NAME, [PATH])
    assert lemmatizer.listening_components == [NAME]


def own_tagger(nlp):
    (model,) = [node for node in chunker_of(nlp).model.walk() if node.name == "own_labels"]
    return model.layers[0]


LISTENERS = {"many": 0.0, "few": 0.3}


def several_chunkers():
    nlp = blank("words", tagger={"average": False}, average=False)
    for name, threshold in LISTENERS.items():
        model = listening_model(**ONLY_LABELS, threshold=threshold)
        rule = {**ADAGRAD, "average": False}
        config = {"model": model, "spans_key": name, "update_rule": rule}
        nlp.add_pipe(NAME, name=name, config=config)
    return nlp


@pytest.mark.long
def test_several_chunkers_listen(tmp_path):
    """Each hears what it asks for, as if it were alone."""

    def examples(nlp):
        found = examples_of(nlp)
        for eg in found:
            for name in LISTENERS:
                eg.reference.spans[name] = list(eg.reference.spans["chunks"])
        return found

    nlp = several_chunkers()
    optimizer = nlp.initialize(lambda: examples(nlp))
    assert tagger_of(nlp).listening_components == [*LISTENERS]
    train(nlp, 30, examples, optimizer)
    assert all(on(nlp(TEXTS[0]), name) == gold()[0] for name in ("chunks", *LISTENERS))
    with_random_weights(nlp, 1, 0.5)
    nlp.to_disk(tmp_path)
    scores = {}
    for name in LISTENERS:
        others = {*LISTENERS, NAME} - {name}
        alone = spacy.load(tmp_path, exclude=others)
        for text in TEXTS:
            together, single = nlp(text), alone(text)
            assert on(together, name) == on(single, name)
            assert scores_on(together, name) == pytest.approx(scores_on(single, name), abs=1e-6)
            found = nlp.get_pipe(name).model.predict([together]).scores.tolist()
            scores.setdefault(name, []).append(found)
    assert scores["many"] != scores["few"]


def merged(doc):
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])
    return doc


def split(doc):
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[1], ["o", "ld"], heads=[doc[1], doc[1]])
    return doc


@pytest.mark.parametrize("change", [merged, split])
def test_tokens_that_are_merged_or_split_between(change):
    """The tagger is asked once more: its labels were of other tokens."""
    nlp = ready("joint")
    texts = "the old dog sees a cat .", "dogs run", "the old dog \n\n sees a cat"
    before = map(nlp.make_doc, texts)
    docs = [change(doc) if len(doc) > 3 else doc for doc in tagger_of(nlp).pipe(before)]
    rows = [([t.text for t in doc], [bool(t.whitespace_) for t in doc]) for doc in docs]
    fresh = [Doc(nlp.vocab, words=words, spaces=spaces) for words, spaces in rows]
    for doc, other in zip(chunker_of(nlp).pipe(docs), nlp.pipe(fresh), strict=True):
        assert on(doc) == on(other) and scores_on(doc) == scores_on(other)


@pytest.mark.parametrize("name", [TAGGER, NAME])
def test_enabled_after_loading(name, tmp_path):
    """spaCy links what is enabled when a pipeline is read: the tagger did not know who listens."""
    nlp = ready("joint")
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path, disable=[name])
    loaded.enable_pipe(name)
    assert through(loaded) == through(nlp)
    assert_linked(loaded)


def test_tagger_that_was_sourced_by_another_pipeline():
    """It is the same object in both; the pipeline that it came from still has its chunker."""
    nlp = trained("joint")
    expected = through(nlp)
    spacy.blank("xx", vocab=nlp.vocab).add_pipe(TAGGER, source=nlp)
    assert through(nlp) == expected


@pytest.mark.parametrize("copied", [deepcopy, lambda nlp: pickle.loads(pickle.dumps(nlp))])
def test_a_copy_listens_to_its_own_tagger(copied):
    nlp = ready("joint")
    other = copied(nlp)
    (listener,) = tagger_of(other).listeners
    assert listener.sender is tagger_of(other)
    assert tagger_of(nlp).listeners[0].sender is tagger_of(nlp)
    expected, found = (
        on(chunker_of(pipeline)(merged(tagger_of(pipeline)(doc_of(pipeline, TEXTS[0])))))
        for pipeline in (nlp, other)
    )
    assert found == expected


# A tagger that is renamed under the component that listens to it


NEW = "first_tagger"


def listener_of(nlp, name=NAME):
    nodes = nlp.get_pipe(name).model.walk()
    (listener,) = [node for node in nodes if node.name == "marginal_listener"]
    return listener


def renamed(kind="joint", new=NEW):
    nlp = reloaded(ready(kind))
    nlp.rename_pipe(TAGGER, new)
    return nlp


@pytest.mark.parametrize("kind", KINDS)
def test_a_renamed_tagger_is_listened_to(kind):
    nlp = renamed(kind)
    assert nlp.get_pipe(NEW).listening_components == [NAME]
    assert listener_of(nlp).upstream_name == NEW
    assert through(nlp) == through(ready(kind))
    assert on(nlp(TEXTS[0])) == gold()[0]


def test_the_name_is_saved(tmp_path):
    """spaCy leaves the old name in the listener's config."""
    nlp = renamed()
    before = through(nlp)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    emissions = loaded.config["components"][NAME]["model"]["emissions"]
    assert emissions["second"]["upstream"]["upstream"] == TAGGER
    assert through(loaded) == before == through(reloaded(nlp))
    assert listener_of(loaded).upstream_name == NEW
    loaded.rename_pipe(NEW, "once_more")
    assert through(loaded) == before == through(reloaded(loaded))
    assert chunker_of(nlp).model.copy().to_bytes() == chunker_of(nlp).model.to_bytes()


def test_a_config_with_another_name_goes_before_what_was_saved(tmp_path):
    """Of a name that the config no longer has, nothing is known."""
    nlp = renamed()
    config = nlp.config.copy()
    config["components"][NAME]["model"]["emissions"]["second"]["upstream"]["upstream"] = "third"
    nlp.rename_pipe(NEW, "third")
    config["nlp"]["pipeline"] = ["third", NAME]
    config["components"]["third"] = config["components"].pop(NEW)
    fresh = spacy.util.load_model_from_config(config, auto_fill=True)
    for name in ("third", NAME):
        fresh.get_pipe(name).from_bytes(nlp.get_pipe(name).to_bytes())
    assert through(fresh) == through(nlp)


# Token vectors below a tagger to which a chunker listens: both losses reach them


TOK2VEC = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 8}
TOK2VEC |= {"depth": 1, "embed_size": 50, "window_size": 1, "maxout_pieces": 2}
TOK2VEC["subword_features"] = True
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8, "upstream": "tok2vec"}


def pipeline(grad_factor, *, shared):
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    if shared:
        nlp.add_pipe("tok2vec", config={"model": TOK2VEC})
    emissions = layer("Tok2VecLinear", tok2vec=LISTENER if shared else TOK2VEC)
    nlp.add_pipe(TAGGER, config={"objective": "log_likelihood", "model": tagger_model(emissions)})
    nlp.add_pipe(NAME, config={"model": listening_model(grad_factor=grad_factor, threshold=0.0)})
    return nlp


def gradient(grad_factor, *, shared):
    """With respect to biases below the token vectors, at random weights above."""
    nlp = pipeline(grad_factor, shared=shared)
    nlp.initialize(lambda: examples_of(nlp))
    rng = np.random.default_rng(0)
    for name in (TAGGER, NAME):
        for shim in weights_in(nlp.get_pipe(name).model):
            for parameter in shim.parameters.values():
                parameter.values[...] = rng.normal(scale=0.3, size=parameter.values.shape)
    output = nlp.get_pipe(TAGGER).model.layers[0].get_ref("output_layer")
    weights = rng.normal(scale=0.3, size=output.get_param("W").shape)
    output.set_param("W", weights.astype(np.float32))
    nlp.update(examples_of(nlp), sgd=False)
    model = nlp.get_pipe("tok2vec" if shared else TAGGER).model
    return next(node for node in model.walk() if node.name == "maxout").get_grad("b")


def test_gradients_of_two_losses_add_up():
    """That of the tagger, and `grad_factor` times that of the chunker."""
    none, once, twice = (gradient(factor, shared=False) for factor in (0.0, 1.0, 2.0))
    assert np.abs(once - none).max() > 0.1
    assert twice - none == pytest.approx(2 * (once - none), rel=1e-2, abs=1e-3)


def test_network_that_others_share():
    """The tagger would call the way back of spaCy's Tok2Vec twice, which then adds up what it got before."""
    assert np.isfinite(gradient(0.0, shared=True)).all()
    with pytest.raises(ValueError, match=r"\[HS104\]"):
        gradient(1.0, shared=True)
