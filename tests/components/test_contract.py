"""The contract of a component: what holds for each kind, whatever it writes. A new one is an entry of `KINDS`.

What only one of them does is tested in a file of its own; what commands make of them, in test_tools.py.
"""

import copy
import json
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hoseq.components.targets.places import target_at

from ..builders import unannotated
from .kinds import EACH, LANG, blank, examples_of, kept, labels_of, said, texts
from .test_tools import CANNOT

long = pytest.mark.long
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.parametrize("kind", EACH)]
WHITE = "The \n old  ferry still runs \t twice a day.\n\nNobody knows who pays for it."
NEW = {"morph": "Case=Foo|POS=X", "lemma": "keep *zz>*"}  # labels that training does not have


def keeping(model, kind) -> Language:
    """The pipeline, whose component keeps probabilities."""
    nlp = spacy.load(model)
    if kind.keeps:
        nlp.get_pipe(kind.name).cfg[kind.keeps] = True
    return nlp


def learning(kind, corpus, n=8, **settings):
    """An initialized pipeline, its optimizer, and examples."""
    nlp = blank(kind, **settings)
    examples = examples_of(nlp, corpus.folder, "train")[:n]
    return nlp, nlp.initialize(lambda: examples), examples


def weights(nlp, kind):
    return nlp.get_pipe(kind.name).to_bytes(exclude=["vocab"])


def without_gold(nlp, examples):
    return [Example(eg.predicted, unannotated(eg.reference, nlp.vocab)) for eg in examples]


# Training


def test_train(kind, nlp, gold):
    name, least = kind.score
    assert nlp.evaluate(gold)[name] > least
    (pipe,) = (pipe for _, pipe in nlp.pipeline)
    assert pipe.labels and pipe.label_data


def test_labels(kind, nlp, corpus):
    """They are strings that can be written, are added before the weights, and are saved for `init labels`."""
    pipe = nlp.get_pipe(kind.name)
    first = pipe.labels[0]
    if kind.place != "sent_start":  # which has no others
        with pytest.raises(ValueError, match="E922"):
            pipe.add_label(NEW.get(kind.place, "Z"))
    fresh = blank(kind).get_pipe(kind.name)
    for label, code in ((3, "E187"), *([("", "HS027")] if kind.place != "morph" else [])):
        with pytest.raises(ValueError, match=code):
            fresh.add_label(label)
    assert [fresh.add_label(first), fresh.add_label(first)] == [1, 0] and fresh.labels == (first,)
    examples = examples_of(nlp, corpus.folder, "train")
    again = blank(kind).get_pipe(kind.name)
    again.initialize(lambda: examples, labels=pipe.label_data)
    assert again.labels == pipe.labels


def test_without_labels(kind, corpus):
    nlp = blank(kind)
    pipe = nlp.get_pipe(kind.name)
    with pytest.raises(ValueError, match="E143"):
        nlp("some text")
    assert not len(nlp(""))
    examples = without_gold(nlp, examples_of(nlp, corpus.folder)[:2])
    if kind.place != "sent_start":  # the first word of a Doc begins a sentence
        with pytest.raises(ValueError, match=r"\[HS069\]"):
            pipe.initialize(lambda: examples, nlp=nlp)
    for get_examples in (None, lambda: [], lambda: [nlp.make_doc("a")]):
        with pytest.raises((TypeError, ValueError), match="E9"):
            pipe.initialize(get_examples, nlp=nlp)
    with pytest.raises(ValueError, match="E143"):
        pipe.update([Example(nlp.make_doc("a"), nlp.make_doc("a"))])


def test_initialization(kind, corpus):
    """Twice is once, and leaves the examples as they are."""
    nlp, _, examples = learning(kind, corpus)
    before = [(eg.predicted.to_bytes(), eg.reference.to_bytes()) for eg in examples]
    first = weights(nlp, kind)
    nlp.initialize(lambda: examples)
    assert weights(nlp, kind) == first
    assert [(eg.predicted.to_bytes(), eg.reference.to_bytes()) for eg in examples] == before


def test_learning(kind, corpus):
    """Losses fall, and are the same with the same seed; texts in one batch may be empty or without gold."""
    states = []
    for seed in (0, 0, 1):
        nlp = blank(kind)
        nlp.config["training"]["seed"] = seed
        examples = examples_of(nlp, corpus.folder, "train")[:6]
        optimizer = nlp.initialize(lambda examples=examples: examples)
        settings = {"sgd": optimizer, "drop": 0.3}
        losses = [nlp.update(examples, losses={}, **settings)[kind.name] for _ in range(6)]
        assert min(losses) >= 0 and losses[-1] < max(losses[:2])
        states.append(weights(nlp, kind))
    assert states[0] == states[1] != states[2]
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    unknown = without_gold(nlp, examples[:1])
    total = {kind.name: 1.0}
    assert nlp.update([empty], losses=total)[kind.name] == 1.0
    if kind.place != "sent_start":
        assert nlp.update(unknown, sgd=None, losses={})[kind.name] == pytest.approx(0, abs=1e-6)
    nlp.update([empty, *examples[:2], *unknown], sgd=optimizer, losses=total)
    assert total[kind.name] > 1.0
    with pytest.raises(TypeError, match="E978"):
        nlp.get_pipe(kind.name).update([nlp.make_doc("a")])


def test_parts_of_a_batch(kind, corpus):
    """Gradients wait for `finish_update`."""
    (whole, _, examples), (parts, _, others) = learning(kind, corpus, 4), learning(kind, corpus, 4)
    pipe = parts.get_pipe(kind.name)
    before = weights(parts, kind)
    for batch in (others[:1], others[1:]):
        pipe.update(batch)
    assert weights(parts, kind) == before
    pipe.finish_update(None)
    whole.get_pipe(kind.name).update(examples, sgd=whole.create_optimizer())
    pairs = ((whole, examples), (parts, others))
    losses = [nlp.get_pipe(kind.name).update(batch)[kind.name] for nlp, batch in pairs]
    assert losses[0] == pytest.approx(losses[1], rel=0.02, abs=0.05)


def test_training_goes_on(kind, corpus, tmp_path):
    """Saving and predicting do not disturb it; a copy goes on as the original; a loaded component goes on."""
    nlp, optimizer, examples = learning(kind, corpus)
    other, of_other, same = learning(kind, corpus)
    for batch, of_same in ((examples[:4], same[:4]), (examples[4:], same[4:])):
        nlp.update(batch, sgd=optimizer, drop=0.2)
        other.update(of_same, sgd=of_other, drop=0.2)
        other.to_bytes()
        other(examples[0].reference.text)
    assert weights(nlp, kind) == weights(other, kind)
    copied = pickle.loads(pickle.dumps(nlp))
    for each in (nlp, copied):
        each.update(examples_of(each, corpus.folder, "train")[:8], drop=0.2)
    is_same = weights(nlp, kind) == weights(copied, kind)
    assert is_same or kind.factory == "hoseq_bidirectional_tagger"
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    before = weights(loaded, kind)
    loaded.update(examples_of(loaded, corpus.folder, "train")[:8], sgd=loaded.resume_training())
    assert weights(loaded, kind) != before


# Prediction


def test_batches(kind, model, gold):
    """Labels do not depend on the batch, on the order, and on what was read before; weights stay."""
    nlp = keeping(model, kind)
    before = weights(nlp, kind)
    expected = said(nlp, gold, kind)
    for size in (1, 3, 1000):
        docs = list(nlp.pipe(["", *texts(gold), ""], batch_size=size))
        assert [labels_of(doc, kind) for doc in docs[1:-1]] == expected
        assert len(docs[0]) == len(docs[-1]) == 0
    order = np.random.default_rng(0).permutation(len(gold)).tolist()
    shuffled = list(nlp.pipe([texts(gold)[i] for i in order], batch_size=2))
    assert [labels_of(doc, kind) for doc in shuffled] == [expected[i] for i in order]
    assert [labels_of(nlp(text), kind) for text in texts(gold)] == expected
    assert weights(nlp, kind) == before


def test_docs_are_read_only(kind, nlp, gold):
    pipe = nlp.get_pipe(kind.name)
    docs = [nlp.make_doc(text) for text in texts(gold)]
    before = [doc.to_bytes() for doc in docs]
    pipe.predict(docs)
    assert [doc.to_bytes() for doc in docs] == before


def test_white_space(kind, nlp):
    """Words have the labels that they have in a text with single spaces."""
    plain = [token.text for token in nlp.make_doc(WHITE) if not token.is_space]
    pipe = nlp.get_pipe(kind.name)
    docs = [pipe(doc) for doc in (nlp.make_doc(WHITE), Doc(nlp.vocab, words=plain))]
    target = nlp.get_pipe(kind.name).target
    places = [(doc, target.items(doc)) for doc in docs]
    items = [[(doc[a:b].text.split(), y) for a, b, y in spans] for doc, spans in places]
    assert items[0] == items[1]
    assert {token.tag_ for token in docs[0] if token.is_space} <= {"", "_SP"}


def words_in(doc):
    return [token.i for token in doc if not token.is_space]


def test_reading_is_what_is_written(kind, nlp):
    """On words; white space has no label. Tools find it by the name of its place."""
    pipe = nlp.get_pipe(kind.name)
    assert pipe.target.place == kind.place
    assert pipe.target.labels_spans == kind.place.startswith("spans.")
    docs, again = ([nlp.make_doc(text) for text in (WHITE, "", "dogs run")] for _ in range(2))
    reading = pipe.read(docs)
    assert reading.labels == pipe.tags
    n_words = [len(words_in(doc)) for doc in docs]
    best_of = np.split(reading.best, np.cumsum(n_words)[:-1])
    for doc, ids, best in zip(docs, reading.label_ids, best_of, strict=True):
        expected = np.full(len(doc), -1)
        expected[words_in(doc)] = best
        assert ids.tolist() == expected.tolist()
    pipe.set_annotations(docs, reading)
    expected = [labels_of(doc, kind) for doc in pipe.pipe(again)]
    assert [labels_of(doc, kind) for doc in docs] == expected
    assert target_at(kind.place).items(docs[0]) == pipe.target.items(docs[0])


def test_confidences(kind, model):
    """Marginals of the best labels, or probabilities of decisions; other strategies have none."""
    nlp = keeping(model, kind)
    pipe, doc = nlp.get_pipe(kind.name), nlp.make_doc(WHITE)
    reading = pipe.predict([doc])
    if not kind.keeps:
        with pytest.raises(ValueError, match=r"\[HS105\].*has no `p\(y \| x\)`: the strategy"):
            reading.confidences()
        return
    found = reading.confidences()
    assert ((found > 0) & (found <= 1 + 1e-6)).all()
    if kind.keeps == "save_decisions":
        decisions = kept(pipe(doc), kind)["probabilities"]
        assert found == pytest.approx(decisions[words_in(doc)], abs=1e-6)
        with pytest.raises(ValueError, match=r"\[HS105\].*labels are decided one by one"):
            assert reading.posterior is None
        return
    nodes, n = reading.posterior.nodes, len(words_in(doc))
    assert nodes.sum(axis=1) == pytest.approx(np.ones(n), abs=1e-6)
    assert found == pytest.approx(nodes[np.arange(n), reading.best], abs=1e-6)
    (rows,) = reading.by_token(nodes)
    assert rows.shape == (len(doc), len(pipe.tags))
    assert not np.delete(rows, words_in(doc), axis=0).any()


def test_labels_that_are_put_are_gold(kind, nlp):
    """`put` on an empty Doc, item by item, gives what `items` reads and `gold` permits."""
    pipe, empty = nlp.get_pipe(kind.name), nlp.make_doc(WHITE)
    pipe.cfg.update({"span_threshold": None} if "span_threshold" in pipe.cfg else {})
    items = pipe.target.items(pipe(nlp.make_doc(WHITE)))
    if kind.place.startswith("spans."):
        empty.spans[kind.place.partition(".")[2]] = []
    for first, end, label in items:
        pipe.target.put(empty, first, end, [(first, end, label)])
    assert pipe.target.items(empty) == items
    permitted = pipe.gold([Example(nlp.make_doc(WHITE), empty)])
    best = pipe.read([nlp.make_doc(WHITE)]).best
    assert permitted[np.arange(len(best)), best].all()
    # several scripts make one lemma
    assert kind.place == "lemma" or (permitted.sum(axis=1) == 1).all()


def test_what_is_set_stays(kind, nlp, gold):
    """Unless `overwrite`: labels of other words are kept where they are."""
    if kind.place == "sent_start":
        pytest.skip("they cut the text (test_sentence_starts.py)")
    pipe = nlp.get_pipe(kind.name)
    doc = nlp.make_doc(texts(gold)[0])
    expected = pipe(doc.copy())
    items = pipe.target.items(expected)
    if kind.place.startswith("spans."):
        doc.spans[kind.place.partition(".")[2]] = []
    others = [label for *_, label in items[::-1]]
    changed = [(a, b, other) for (a, b, _), other in zip(items, others, strict=True)]
    pipe.target.put(doc, 0, len(doc), changed if len({*others}) > 1 else changed[1:])
    # several scripts make the same lemma
    seen = (lambda doc: labels_of(doc, kind)) if kind.place == "lemma" else pipe.target.items
    assert seen(doc) != seen(expected)
    pipe.cfg["overwrite"] = False
    assert seen(pipe(doc.copy())) == seen(doc)
    pipe.cfg["overwrite"] = True
    assert seen(pipe(doc.copy())) == seen(expected)


def test_memory_zones(kind, nlp, gold):
    """Words that are met in a zone are forgotten, labels are not."""
    odd = [f"{text} Brontosaurus zz{i}" for i, text in enumerate(texts(gold))]
    with nlp.memory_zone():
        inside = [labels_of(doc, kind) for doc in nlp.pipe(odd)]
    assert "Brontosaurus" not in nlp.vocab.strings
    assert [labels_of(doc, kind) for doc in nlp.pipe(odd)] == inside
    with nlp.memory_zone():
        assert [labels_of(doc, kind) for doc in nlp.pipe(odd)] == inside


def test_gold_of_other_tokens(kind, nlp, gold):
    """What does not align to one label is not known."""
    pipe = nlp.get_pipe(kind.name)
    reference = gold[0].reference
    joined = "".join(token.text for token in reference[:2])
    words = [joined, *(token.text for token in reference[2:])]
    predicted = Doc(nlp.vocab, words=words, spaces=[True] * len(words))
    permitted = pipe.gold([Example(predicted, reference)])
    assert permitted.shape == (len(words), len(pipe.tags)) and permitted.any(axis=1).all()
    same = pipe.gold([Example(Doc(nlp.vocab, words=[t.text for t in reference]), reference)])
    assert (permitted[3:] == same[4:]).all(axis=1).mean() > 0.9


# Pipelines


def test_disabled_and_replaced(kind, nlp, gold):
    expected = said(nlp, gold, kind)
    with nlp.select_pipes(disable=[kind.name]):
        assert not any(doc.has_annotation("TAG") for doc in nlp.pipe(texts(gold)))
    assert said(nlp, gold, kind) == expected
    nlp.replace_pipe(kind.name, kind.factory, config=kind.config)
    with pytest.raises(ValueError, match="E143"):
        nlp("some text")


def test_error_handler(kind, nlp, monkeypatch):
    pipe = nlp.get_pipe(kind.name)
    predict, failed = pipe.predict, []

    def fragile(docs):
        if any(doc.text.startswith("bad") for doc in docs):
            raise ValueError("on purpose")
        return predict(docs)

    monkeypatch.setattr(pipe, "predict", fragile)
    pipe.set_error_handler(lambda name, _, docs, e: failed.append((name, len(docs), str(e))))
    texts = ["good words", "bad words", "other words"]
    docs = list(pipe.pipe(map(nlp.make_doc, texts), batch_size=1))
    assert len(docs) == 2 and failed == [(kind.name, 1, "on purpose")]


def test_texts_with_contexts(kind, nlp, gold):
    pairs = [(text, i) for i, text in enumerate(texts(gold))]
    found = list(nlp.pipe(pairs, as_tuples=True))
    assert [i for _, i in found] == list(range(len(gold)))
    assert [labels_of(doc, kind) for doc, _ in found] == said(nlp, gold, kind)


# Saving


def test_parts_that_are_saved(kind, nlp, gold, tmp_path):
    pipe = nlp.get_pipe(kind.name)
    assert pipe.to_bytes() == pipe.to_bytes()
    for part in ("cfg", "model", "vocab"):
        saved = srsly.msgpack_loads(pipe.to_bytes(exclude=[part]))
        assert {*saved} == {"cfg", "vocab", "model"} - {part}
        pipe.to_disk(tmp_path / part, exclude=[part])
        saved = {path.name for path in (tmp_path / part).iterdir()}
        assert saved == {"cfg", "vocab", "model"} - {part}
    pipe.to_disk(tmp_path / "all")
    fresh = blank(kind)
    fresh.get_pipe(kind.name).from_disk(tmp_path / "all")
    assert said(fresh, gold, kind) == said(nlp, gold, kind)
    empty = blank(kind).get_pipe(kind.name)
    assert blank(kind).get_pipe(kind.name).from_bytes(empty.to_bytes()).labels == ()


def test_settings_are_those_of_the_config(kind, model):
    """Labels are read, settings are not; impossible ones are refused."""
    for value in (False, True):
        changed = spacy.load(model, config={f"components.{kind.name}.overwrite": value})
        assert changed.get_pipe(kind.name).cfg["overwrite"] is value
    with pytest.raises(ValueError):
        blank(kind, nonsense=1)
    text = blank(kind).config.interpolate().to_str()
    config = spacy.util.Config().from_str(text)
    again = spacy.util.load_model_from_config(config, auto_fill=False, validate=True)
    assert again.config.to_str() == text


@pytest.mark.parametrize("part", ["cfg", "model"])
def test_damage(kind, model, gold, tmp_path, part):
    """A file that is missing, truncated, changed or of another program is refused."""
    folder = shutil.copytree(model, tmp_path / "model")
    path = folder / kind.name / part
    data = path.read_bytes()
    at = len(data) // 2
    if part == "cfg":
        label = srsly.json_dumps(srsly.read_json(path)["labels"][-1])
        at = data.index(label[1:-1].encode())
    changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    for damaged in (b"", data[: len(data) // 3], data[:-1], changed, b"[1, 2]", None):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"\[HS06[45]\]|HS027"):
            spacy.load(folder)
    path.write_bytes(data)
    spacy.load(folder)


def test_bytes_and_disk(kind, nlp, gold, tmp_path):
    expected = said(nlp, gold, kind)
    assert any(map(any, expected))
    assert said(blank(kind).from_bytes(nlp.to_bytes()), gold, kind) == expected
    nlp.to_disk(tmp_path / "saved")
    assert said(spacy.load(tmp_path / "saved"), gold, kind) == expected


def test_pickle_and_copy(kind, nlp, gold):
    expected = said(nlp, gold, kind)
    assert said(pickle.loads(pickle.dumps(nlp)), gold, kind) == expected
    component = copy.deepcopy(nlp.get_pipe(kind.name))
    docs = [component(nlp.make_doc(text)) for text in texts(gold)]
    assert [labels_of(doc, kind) for doc in docs] == expected


def test_source_and_rename(kind, nlp, gold):
    expected = said(nlp, gold, kind)
    other = spacy.blank(LANG)
    other.add_pipe(kind.name, source=nlp)
    other.rename_pipe(kind.name, "renamed")
    assert said(other, gold, kind) == expected
    assert other.get_pipe("renamed").name == "renamed"
    fresh = spacy.blank(LANG).from_config(other.config).from_bytes(other.to_bytes())
    assert said(fresh, gold, kind) == expected


def test_two_in_one_pipeline(kind, corpus, nlp):
    """Both learn, each under its name."""
    two = blank(kind)
    two.add_pipe(kind.factory, "second", config=kind.config)
    examples = examples_of(two, corpus.folder, "train")[:6]
    two.initialize(lambda: examples)
    losses: dict[str, float] = {}
    for _ in range(3):
        two.update(examples, losses=losses)
    assert losses[kind.name] > 0 and losses["second"] > 0
    assert any(labels_of(two(examples[0].reference.text), kind))


def test_probabilities_on_docs(kind, model, nlp, gold):
    """On: one for each token, or for each label of each token. Off: nothing is kept."""
    assert all(kept(doc, kind) is None for doc in nlp.pipe(texts(gold)))
    code = CANNOT.get((kind.column, "marginals"))
    if code is not None:
        with pytest.raises(ValueError, match=rf"\[{code}\]"):
            blank(kind, save_decisions=True)
        return
    for doc in keeping(model, kind).pipe(texts(gold)):
        found = kept(doc, kind)
        p = found["probabilities"]
        assert len(p) == len(doc) and (p >= 0).all() and (p <= 1 + 1e-6).all()
        if p.ndim == 2:
            assert p.shape[1] == len(found["labels"])
            assert p.sum(axis=1) == pytest.approx(1, abs=1e-4)
        assert (p.reshape(len(doc), -1).max(axis=1) > 0).all()


def test_spans_have_probabilities(kind, nlp, gold):
    if not kind.place.startswith("spans."):
        pytest.skip("labels of tokens")
    for doc in nlp.pipe(texts(gold)):
        group = doc.spans[kind.place.partition(".")[2]]
        assert len(group.attrs["scores"]) == len(group)
        assert all(0 < p <= 1 + 1e-6 for p in group.attrs["scores"])


@long
def test_two_processes(kind, model, gold):
    nlp = keeping(model, kind)
    single = list(nlp.pipe(texts(gold)))
    both = list(nlp.pipe(texts(gold), n_process=2, batch_size=3))
    assert [labels_of(doc, kind) for doc in both] == [labels_of(doc, kind) for doc in single]
    if kind.keeps:
        ours, theirs = kept(both[0], kind), kept(single[0], kind)
        assert ours["probabilities"] == pytest.approx(theirs["probabilities"], abs=1e-6)


FRESH = """
import json, sys
import spacy, spacy_hoseq
from spacy.tokens import DocBin
for line in sys.stdin:
    path, name, extension = json.loads(line)
    docs = DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab)
    found = [len(doc._.get(extension)[name]["probabilities"]) if extension else len(doc) for doc in docs]
    print(json.dumps(found), flush=True)
"""


@pytest.fixture(scope="module")
def fresh():
    """A process that only reads Docs."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen([sys.executable, "-c", FRESH], text=True, **pipes) as process:
        yield process


@long
def test_docs_in_a_fresh_process(kind, model, gold, tmp_path, fresh):
    docs = list(keeping(model, kind).pipe(texts(gold)))
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "docs.spacy")
    line = json.dumps([str(tmp_path / "docs.spacy"), kind.name, kind.under])
    print(line, file=fresh.stdin, flush=True)
    answer = fresh.stdout.readline()
    assert answer, fresh.stderr.read()[-800:]
    assert json.loads(answer) == [len(doc) for doc in docs]
