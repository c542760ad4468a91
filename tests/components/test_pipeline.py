"""Life in a pipeline: sourcing, renaming, replacing, disabling, analysis, annotating components, errors."""

import pytest
import spacy
from spacy import ty
from spacy.language import Language
from spacy.tokens import Doc

from spacy_hoseq.components.tagger import HoseqTagger

from .helpers import (
    ALL_PATTERNS,
    CORPUS,
    blank,
    doc_of,
    examples_of,
    gold,
    predicted,
    ready,
    reloaded,
    sparse,
    tagger_model,
    tagger_of,
    tags_of,
    train,
    trained,
)


def test_factory():
    nlp = spacy.blank("xx")
    tagger = nlp.add_pipe("hoseq_tagger")
    assert isinstance(tagger, HoseqTagger)
    assert isinstance(tagger, ty.TrainableComponent) and isinstance(tagger, ty.InitializableComponent)
    meta = nlp.get_factory_meta("hoseq_tagger")
    assert (meta.assigns, meta.requires, meta.retokenizes) == (["token.tag"], [], False)
    assert Language.get_factory_name("hoseq_tagger") == "hoseq_tagger"


def test_default_settings():
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger")
    config = nlp.get_pipe_config("hoseq_tagger")
    assert config["objective"] == "max_margin"
    templates = {"@misc": "spacy_hoseq.templates.v1", "name": "english_pos", "classes": 0}
    assert config["model"]["emissions"]["templates"] == templates
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp)
    assert predicted(nlp) == gold()


@pytest.mark.parametrize("patterns", [None, ALL_PATTERNS], ids=["chain", "patterns"])
def test_sourcing(patterns):
    source = trained(model=tagger_model(patterns=patterns))
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("hoseq_tagger", source=source)
    assert predicted(nlp) == predicted(source) == gold()
    assert nlp.config["components"]["hoseq_tagger"] == source.config["components"]["hoseq_tagger"]
    assert predicted(reloaded(nlp)) == gold()


def test_sourcing_by_config(tmp_path):
    trained().to_disk(tmp_path / "source")
    nlp = spacy.util.load_model_from_config(
        {"nlp": {"lang": "xx", "pipeline": ["mine"]}, "components": {"mine": source_of(tmp_path)}}, auto_fill=True
    )
    assert [[t.tag_ for t in nlp(text)] for text, _ in CORPUS] == gold()


def source_of(path):
    return {"source": str(path / "source"), "component": "hoseq_tagger"}


def test_renaming():
    nlp = trained("log_likelihood", save_marginals=True)
    nlp.rename_pipe("hoseq_tagger", "other")
    assert nlp.get_pipe("other").name == "other"
    doc = nlp("the cat")
    assert list(doc._.hoseq_marginals) == ["other"]
    assert nlp.update(examples_of(nlp), losses={}).keys() == {"other"}
    assert [t.tag_ for t in reloaded(nlp)(CORPUS[0][0])] == gold()[0]


def test_two_taggers_do_not_share_weights():
    nlp = blank()
    nlp.add_pipe("hoseq_tagger", name="second", config={"model": tagger_model(), "overwrite": True})
    nlp.initialize(lambda: examples_of(nlp))
    with nlp.select_pipes(enable="second"):
        for _ in range(10):
            nlp.update(examples_of(nlp), losses={})
    assert [[t.tag_ for t in nlp(text)] for text, _ in CORPUS] == gold()
    assert not tagger_of(nlp).model.layers[0].predict([doc_of(nlp, "the cat")])[0].any()


def test_replacing():
    nlp = trained()
    nlp.replace_pipe("hoseq_tagger", "hoseq_tagger", config={"model": tagger_model(sparse(["bias", "lower[0]"]))})
    with pytest.raises(ValueError, match="E143"):
        nlp("the cat")
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 20)
    assert tags_of(nlp, "the cat runs") == ["D", "N", "V"]
    config = nlp.config["components"]["hoseq_tagger"]
    assert config["model"]["emissions"]["templates"] == ["bias", "lower[0]"]


def test_disabling():
    nlp = trained()
    with nlp.select_pipes(disable="hoseq_tagger"):
        assert [t.tag_ for t in nlp("the cat")] == ["", ""]
        assert nlp.update(examples_of(nlp), losses={}) == {}
    assert [t.tag_ for t in nlp("the cat", disable=["hoseq_tagger"])] == ["", ""]
    assert [t.tag_ for t in nlp("the cat")] == ["D", "N"]


def test_disabling_and_excluding_in_loading(tmp_path):
    ready().to_disk(tmp_path)
    assert [t.tag_ for t in spacy.load(tmp_path, disable=["hoseq_tagger"])("the cat")] == ["", ""]
    assert spacy.load(tmp_path, exclude=["hoseq_tagger"]).pipe_names == []
    nlp = spacy.load(tmp_path, disable=["hoseq_tagger"])
    nlp.enable_pipe("hoseq_tagger")
    assert [t.tag_ for t in nlp("the cat")] == ["D", "N"]


def test_analysis():
    nlp = blank()
    nlp.add_pipe("attribute_ruler")
    analysis = nlp.analyze_pipes()
    assert analysis["summary"]["hoseq_tagger"] == {
        "assigns": ["token.tag"], "requires": [], "scores": ["tag_acc"], "retokenizes": False,
    }  # fmt: skip
    assert analysis["problems"]["hoseq_tagger"] == []


def test_tags_feed_later_components():
    nlp = trained()
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"TAG": "N"}]], attrs={"POS": "NOUN"})
    assert [t.pos_ for t in nlp("the cat runs")] == ["", "NOUN", ""]


def test_annotates_on_update():
    nlp = blank()
    seen = []
    nlp.add_pipe("tests_hoseq_listening", config={})
    nlp.get_pipe("tests_hoseq_listening").seen = seen
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 10)
    nlp.update(examples_of(nlp), losses={}, annotates=["hoseq_tagger"])
    assert seen[-1] == gold()[-1]
    assert seen[0] == [""] * 7


class Listening:
    """Notes the tags that it sees in training."""

    name = "tests_hoseq_listening"
    is_trainable = True
    model = None

    def __call__(self, doc):
        return doc

    def update(self, examples, **kwargs):
        self.seen.extend([t.tag_ for t in eg.predicted] for eg in examples)


@Language.factory("tests_hoseq_listening")
def make_listening(nlp: Language, name: str):
    return Listening()


def test_error_handler():
    nlp = trained()
    failed = []
    tagger = tagger_of(nlp)
    predict = tagger.predict

    def note(name, proc, docs, error):
        failed.append((name, proc is tagger, [doc[0].text for doc in docs], str(error)))

    def fragile(docs):
        if any(doc[0].text == "bad" for doc in docs):
            raise ValueError("on purpose")
        return predict(docs)

    tagger.predict = fragile
    tagger.set_error_handler(note)
    docs = [Doc(nlp.vocab, words=[word]) for word in ("cat", "the", "bad", "a", "runs")]
    done = list(tagger.pipe(iter(docs), batch_size=2))
    assert [doc[0].text for doc in done] == ["cat", "the", "runs"]
    assert failed == [("hoseq_tagger", True, ["bad", "a"], "on purpose")]


def test_sentences_from_an_earlier_component():
    nlp = trained()
    nlp.add_pipe("sentencizer", first=True)
    doc = nlp("a cat runs . dogs run .")
    assert [t.tag_ for t in doc] == gold()[1] + gold()[2]
    assert tagger_of(nlp).model.predict([doc]).lengths.tolist() == [4, 3]


def test_texts_docs_and_tuples():
    nlp = ready()
    assert [[t.tag_ for t in doc] for doc in nlp.pipe(["the cat", "", "hi"])][:2] == [["D", "N"], []]
    docs = list(nlp.pipe([doc_of(nlp, "the cat"), doc_of(nlp, "")]))
    assert [[t.tag_ for t in doc] for doc in docs] == [["D", "N"], []]
    config = {"hoseq_tagger": {"batch_size": 1}}
    pairs = list(nlp.pipe([("the cat", 1), ("a dog", 2)], as_tuples=True, component_cfg=config))
    assert [([t.tag_ for t in doc], i) for doc, i in pairs] == [(["D", "N"], 1), (["D", "N"], 2)]


def test_annotating_one_doc():
    nlp = ready()
    doc = doc_of(nlp, "the cat")
    tagger_of(nlp).set_annotations(doc, tagger_of(nlp).predict([doc]))
    assert [t.tag_ for t in doc] == ["D", "N"]
