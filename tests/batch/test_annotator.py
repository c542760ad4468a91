"""The map from batches to batches, against Docs read one token at a time."""

import gc
import inspect
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from threading import Event, Thread

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

import spacy_hoseq

from ..builders import learn
from .helpers import TEXTS, english, picky_pipeline

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")

from spacy_hoseq.batch import Annotator, annotator, pipeline  # noqa: E402
from spacy_hoseq.batch.columns import row_columns  # noqa: E402

pytestmark = pytest.mark.usefixtures("loaded_once")
ALL = "text word norm tag pos morph lemma dep head prob sentences spans".split()
IN_ANOTHER_PROCESS = """
import pickle, sys
import pyarrow as pa
annotate = pickle.load(sys.stdin.buffer)
result = annotate(pa.table({"id": ["a"], "text": ["They tag it."]}))
print([token["tag"] for token in result["tokens"][0].as_py()])
"""


def table(texts, ids=None):
    ids = pa.array(ids or [f"t{i}" for i in range(len(texts))], pa.string())
    return pa.table({"id": ids, "text": pa.array(texts, pa.string())})


@pytest.fixture(scope="module")
def annotate():
    return Annotator("en")


def expected(doc, at=lambda i: i):
    """What the columns say, from the Doc: plainly."""
    tokens = []
    for t in doc:
        place = {"start": at(t.idx), "end": at(t.idx + len(t))}
        tokens.append({**place, "word": t.text, "tag": t.tag_ or None, "pos": t.pos_ or None})
    sentences = []
    if len(doc):
        sentences = [{"start": at(s.start_char), "end": at(s.end_char)} for s in doc.sents]
    spans = []
    for key, group in [("chunks", doc.spans["chunks"]), ("ents", doc.spans["entities"])]:
        for s, p in zip(group, group.attrs["scores"], strict=True):
            place = {"start": at(s.start_char), "end": at(s.end_char)}
            spans.append({**place, "label": s.label_, "prob": float(p), "group": key})
    return tokens, sentences, spans


def rows_of(result):
    return [(row["tokens"], row["sentences"], row["spans"]) for row in result.to_pylist()]


def test_columns_say_what_the_docs_say(annotate):
    result = annotate(table(TEXTS))
    assert rows_of(result) == [expected(doc) for doc in english().pipe(TEXTS)]
    assert result["id"].to_pylist() == [f"t{i}" for i in range(len(TEXTS))]
    assert not any(result["error"].to_pylist())
    assert len(result["spans"][0]) >= 3 and len(result["sentences"][0]) == 2
    assert result.schema.equals(annotate.schema, check_metadata=True)


def test_all_fields_of_tokens():
    nlp = english(config={"components": {"hoseq_tagger": {"save_marginals": True}}})
    result = Annotator("en", outputs=ALL)(table(TEXTS[:3])).to_pylist()
    for row, doc in zip(result, nlp.pipe(TEXTS[:3]), strict=True):
        marginals = doc._.hoseq_marginals["hoseq_tagger"]
        for i, (found, token) in enumerate(zip(row["tokens"], doc, strict=True)):
            expected = (token.text, token.norm_, token.lemma_ or None)
            assert (found["word"], found["norm"], found["lemma"]) == expected
            expected = (token.i, None, str(token.morph) or None)
            assert (found["head"], found["dep"], found["morph"]) == expected
            is_space = token.is_space
            p = None
            if not is_space:
                p = marginals["probabilities"][i, marginals["labels"].index(token.tag_)]
            assert found["prob"] == p
    assert min(token["prob"] for token in result[0]["tokens"]) > 0.3


TRAINING = [
    ("They tag it".split(), ["P", "V", "P"], [(0, 1, "X")]),
    ("Old dogs sleep".split(), ["J", "N", "V"], [(0, 2, "Y")]),
] * 5  # fmt: skip


def trained(folder, name, **config):
    """A pipeline of one component, trained for a moment on tags and entities."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(name, config=config)
    examples = []
    for words, tags, entities in TRAINING:
        reference = Doc(nlp.vocab, words=words, tags=tags, pos=["X"] * 3)
        reference.set_ents([Span(reference, *entity) for entity in entities])
        reference.spans["names"] = list(reference.ents)
        examples.append(Example(nlp.make_doc(" ".join(words)), reference))
    learn(nlp, examples, 3)
    nlp.to_disk(folder / name)
    return folder / name


@pytest.mark.parametrize(
    "name", ["hoseq_tagger", "hoseq_bidirectional_tagger", "hoseq_morphologizer"]
)
def test_probabilities_of_every_component_arrive(tmp_path, name):
    """Not only those of a tagger: no column is silently empty."""
    path = trained(tmp_path, name)
    texts = ["They tag it", "  Old dogs", ""]
    result = Annotator(path, outputs=["word", "tag", "pos", "prob"])(table(texts)).to_pylist()
    nlp = spacy.load(path)
    for text, row in zip(texts, result, strict=True):
        reading = nlp.get_pipe(name).read([nlp.make_doc(text)])
        (expected,) = reading.by_token(reading.confidences(), np.nan)
        found = [np.nan if token["prob"] is None else token["prob"] for token in row["tokens"]]
        assert np.allclose(found, expected, atol=1e-6, equal_nan=True)
    probabilities = [token["prob"] for token in result[0]["tokens"]]
    assert min(probabilities) > 0.1 and result[1]["tokens"][0]["prob"] is None


def test_any_pipeline_of_spacy(tmp_path):
    nlp = spacy.blank("xx")
    patterns = [{"label": "X", "pattern": "old ferry"}, {"label": "Y", "pattern": "day"}]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.to_disk(tmp_path / "model")
    with pytest.raises(ValueError, match=r"\[HS183\].*\(entity_ruler\)"):
        Annotator(tmp_path / "model", outputs=ALL)(table(["The old ferry"]))
    by_path = Annotator(tmp_path / "model", outputs=[name for name in ALL if name != "prob"])
    for annotate in (by_path, pickle.loads(pickle.dumps(by_path))):
        row = annotate(table(["The old ferry, each day"])).to_pylist()[0]
        assert [
            (s["start"], s["end"], s["label"], s["group"], s["prob"]) for s in row["spans"]
        ] == [(4, 13, "X", "ents", None), (20, 23, "Y", "ents", None)]
        assert row["sentences"] is None and {token["tag"] for token in row["tokens"]} == {None}
    by_token = Annotator(tmp_path / "model", flat=True)(table(["The old ferry"]))
    assert by_token["tag_prob"].null_count == 3, "not asked for by name"


def test_parses_and_groups_of_spans():
    nlp = spacy.blank("xx")
    docs = [nlp("a b c"), nlp(""), nlp("d é f")]
    places = [(0, 2, "Z"), (1, 1, "EMPTY"), (1, 3, "Z")]
    docs[0].spans["z"] = [Span(docs[0], *place) for place in places]
    docs[0].spans["a"] = [docs[0][2:3]]
    docs[2].ents = [Span(docs[2], 0, 2, "E"), Span(docs[2], 2, 3, "E")]
    for token, head in zip(docs[2], (1, 1, 1), strict=True):
        token.head, token.dep_, token.lemma_ = docs[2][head], "d", f"l{head}"
        token.set_morph("Number=Sing")
    columns = row_columns(docs, ["head", "dep", "lemma", "morph", "spans", "sentences"])
    of_first, of_empty, of_last = columns["spans"].to_pylist()
    found = [(s["start"], s["end"], s["label"], s["group"]) for s in of_first]
    assert found == [(4, 5, None, "a"), (0, 3, "Z", "z"), (2, 5, "Z", "z")]
    assert of_empty == []
    assert [(s["start"], s["end"], s["label"]) for s in of_last] == [(0, 3, "E"), (4, 5, "E")]
    assert [
        (t["head"], t["dep"], t["lemma"], t["morph"]) for t in columns["tokens"][2].as_py()
    ] == [(1, "d", "l1", "Number=Sing")] * 3
    assert [len(s or ()) for s in columns["sentences"].to_pylist()] == [0, 0, 1]


def test_ids_texts_and_batches_of_other_types(annotate):
    dictionary = pa.array(["It works.", "It works.", None]).dictionary_encode()
    result = annotate(pa.record_batch({"id": pa.array([7, 8, 9]), "text": dictionary}))
    assert isinstance(result, pa.RecordBatch) and result["id"].type == pa.int64()
    assert result["tokens"][0] == result["tokens"][1] and result["tokens"][2].as_py() is None
    large = annotate(pa.table({"id": ["a"], "text": pa.array(["It works."], pa.large_string())}))
    assert large["tokens"][0] == result["tokens"][0]
    without = Annotator("en", text="body", id=None)
    (row,) = without(pa.table({"body": ["It works."]})).to_pylist()
    assert "id" not in row and "id" not in without.schema.names
    assert row["tokens"] == large["tokens"][0].as_py()
    assert annotate(table([])).num_rows == 0 and annotate(table([])).schema == annotate.schema
    (empty,) = annotate.stream([pa.RecordBatch.from_pylist([], schema=table(["x"]).schema)])
    assert empty.num_rows == 0 and empty.schema == annotate.schema


def test_columns_that_are_missing_or_of_another_type(annotate):
    with pytest.raises(ValueError, match=r'HS162.*"text" is not among the columns id, body'):
        annotate(pa.table({"id": [1], "body": ["x"]}))
    with pytest.raises(ValueError, match='HS162.*"id" is not among'):
        annotate(pa.table({"text": ["x"]}))
    with pytest.raises(ValueError, match="HS162.*has the type int64, not string"):
        annotate(pa.table({"id": [1], "text": [1]}))
    with pytest.raises(ValueError, match="HS162.*twice"):
        annotate(pa.table([["a"], ["b"], ["c"]], names=["id", "text", "text"]))


def test_a_row_that_fails_does_not_fail_its_batch(tmp_path):
    picky = picky_pipeline(tmp_path)
    annotate = Annotator(picky, code=tmp_path / "code.py", max_length=100)
    result = annotate(table(["one", "stop here", None, "x" * 101, "two"])).to_pylist()
    assert [row["error"] and row["error"].split(":")[0] for row in result][1] == "RuntimeError"
    for i, message in enumerate(("this one not", "HS164", "E088"), start=1):
        assert message in result[i]["error"]
    for row in result[1:4]:
        assert row["tokens"] is row["sentences"] is row["spans"] is None
    assert [len(result[i]["tokens"]) for i in (0, 4)] == [1, 1]
    assert result[4]["error"] is None


def test_the_schema_names_the_model(annotate):
    about = json.loads(annotate.schema.metadata[b"spacy_hoseq"])
    assert about["model"] == "en_hoseq_sm" and about["version"] == "1.0.0"
    assert about["fingerprint"] == annotate.fingerprint
    assert annotate(table(["x"])).schema.metadata == annotate.schema.metadata
    fast = Annotator("en", exclude=["hoseq_chunker", "hoseq_entities"])
    assert fast.fingerprint != annotate.fingerprint
    assert fast(table(TEXTS))["spans"].to_pylist() == [[]] * len(TEXTS)


def test_every_setting_is_in_the_fingerprint(tmp_path):
    """So that no job goes on with other settings than those it began with."""
    (tmp_path / "code.py").write_text("")
    settings = {"text": "body", "id": None, "outputs": ["tag"], "flat": True, "exclude": ["x"]}
    settings.update(max_length=5, code=tmp_path / "code.py")
    assert settings.keys() == inspect.signature(Annotator).parameters.keys() - {"pipeline"}
    (tmp_path / "more.py").write_text("1")
    alone = [{name: value} for name, value in settings.items() if name != "code"]
    annotators = [Annotator("cy", **each) for each in [{}, {"code": tmp_path / "more.py"}, *alone]]
    assert len({annotator.fingerprint for annotator in annotators}) == len(settings) + 1


def test_outputs_and_pipelines_that_do_not_exist(tmp_path):
    with pytest.raises(ValueError, match='HS161.*"tags".*Known: word'):
        Annotator("en", outputs=["tags"])
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "meta.json").write_text("{", "utf8")
    for source in ("nowhere", tmp_path, tmp_path / "damaged"):
        with pytest.raises(ValueError, match="HS130"):
            Annotator(source)


def test_it_does_not_matter_how_rows_are_cut(annotate, monkeypatch):
    texts = TEXTS * 3
    whole = annotate(table(texts)).combine_chunks()
    for size in (1, 4, 7):
        batches = list(annotate.stream(table(texts).to_batches(max_chunksize=size)))
        assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
        assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
        assert pa.Table.from_batches(batches).combine_chunks().equals(whole)
    monkeypatch.setattr(annotator, "MAX_CHARACTERS_PER_BATCH", 60)
    monkeypatch.setattr(pipeline, "TOKENS_PER_ZONE", 20)
    without = Annotator("en", exclude=["none"])(table(texts)).combine_chunks()
    assert without.equals(whole.replace_schema_metadata())


@pytest.mark.long
def test_it_travels_with_its_files(tmp_path):
    """A process that has none of them gives the same."""
    shutil.copytree(spacy_hoseq.pipelines.embedded_path("en"), tmp_path / "model")
    annotate = Annotator(tmp_path / "model")
    travelled = pickle.dumps(annotate)
    (tmp_path / "model" / "vocab" / "strings.json").write_text("[]")
    assert Annotator(tmp_path / "model").fingerprint != annotate.fingerprint
    shutil.rmtree(tmp_path / "model")
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", IN_ANOTHER_PROCESS]
    done = subprocess.run(command, input=travelled, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "['PRP', 'VBP', 'PRP', '.']" and not done.stderr


def test_a_text_that_a_component_drops_is_told(tmp_path):
    (tmp_path / "code.py").write_text(
        "import spacy\n"
        "class Drops:\n"
        "    def __call__(self, doc): return doc\n"
        "    def pipe(self, docs, batch_size=None): return (doc for doc in docs if 'drop' not in doc.text)\n"
        "@spacy.Language.factory('drops')\n"
        "def drops(nlp, name): return Drops()\n"
    )
    spacy.blank("xx").to_disk(tmp_path / "model")
    path = tmp_path / "model" / "config.cfg"
    text = path.read_text().replace("pipeline = []", 'pipeline = ["drops"]')
    drops = '[components]\n\n[components.drops]\nfactory = "drops"'
    path.write_text(text.replace("[components]", drops))
    annotate = Annotator(tmp_path / "model", code=tmp_path / "code.py")
    rows = annotate(table(["a", "drop", "b"])).to_pylist()
    assert [row["tokens"] is None for row in rows] == [False, True, False]
    assert "HS175" in rows[1]["error"]


def test_words_are_forgotten_after_those_of_the_beginning(monkeypatch):
    monkeypatch.setattr(pipeline, "TOKENS_PER_ZONE", 6)
    nlp = spacy.blank("xx")
    loaded = pipeline.LoadedPipeline(nlp)
    known = []
    for i in range(8):
        loaded.docs([f"new{i}a new{i}b"])
        known.append([f"new{n}a" in nlp.vocab.strings for n in range(i + 1)])
        loaded.count(2)
    assert known[2] == [1, 1, 1] and known[5] == [1] * 6 and known[7] == [1, 1, 1, 0, 0, 0, 1, 1]


@Language.component("tests_hoseq_seen")
def seen(doc):
    doc.user_data["seen"] = [token.tag_ for token in doc]
    return doc


def test_components_of_others_between_ours_and_disabled_ones(tmp_path, annotate):
    """As `nlp.pipe` does."""
    nlp = english()
    nlp.add_pipe("tests_hoseq_seen", after="hoseq_tagger")
    nlp.add_pipe("merge_noun_chunks", name="unused")
    nlp.disable_pipe("unused")
    nlp.to_disk(tmp_path / "model")
    outputs = ["word", "tag", "pos", "sentences", "spans", "prob"]
    result = Annotator(tmp_path / "model", outputs=outputs)(table(TEXTS))
    plain = annotate(table(TEXTS))
    assert result["spans"].equals(plain["spans"]) and result["sentences"].equals(plain["sentences"])
    tokens = [each["tokens"].to_pylist() for each in (result, plain)]
    for row, expected in zip(*tokens, strict=True):
        assert [{k: v for k, v in token.items() if k != "prob"} for token in row] == expected


ARRIVED, GO = Event(), Event()


@Language.component("tests_hoseq_waits")
def waits(doc):
    if doc.text == "wait":
        ARRIVED.set()
        GO.wait(60)
    return doc


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_a_fork_while_another_thread_annotates(tmp_path):
    """The new process annotates, though the thread that held the lock does not exist in it."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("tests_hoseq_waits")
    nlp.to_disk(tmp_path / "model")
    annotate = Annotator(tmp_path / "model")
    expected = annotate(table(["one text"]))
    thread = Thread(target=annotate, args=(table(["wait"]),))
    thread.start()
    assert ARRIVED.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(60)  # which ends a process that hangs
        os._exit(int(not (gc.isenabled() and annotate(table(["one text"])).equals(expected))))
    GO.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
