"""Life in a pipeline: sourcing, renaming, replacing, disabling, analysis, annotating components, errors."""

import spacy
from spacy import ty
from spacy.language import Language

from spacy_hoseq.components.tagger import HoseqTagger

from .helpers import (
    CORPUS,
    blank,
    doc_of,
    examples_of,
    gold,
    predicted,
    ready,
    tagger_of,
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


def test_sourcing_by_config(tmp_path):
    trained().to_disk(tmp_path / "source")
    nlp = spacy.util.load_model_from_config(
        {"nlp": {"lang": "xx", "pipeline": ["mine"]}, "components": {"mine": source_of(tmp_path)}}, auto_fill=True
    )
    assert [[t.tag_ for t in nlp(text)] for text, _ in CORPUS] == gold()


def source_of(path):
    return {"source": str(path / "source"), "component": "hoseq_tagger"}


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


def test_sentences_from_an_earlier_component():
    nlp = trained()
    nlp.add_pipe("sentencizer", first=True)
    doc = nlp("a cat runs . dogs run .")
    assert [t.tag_ for t in doc] == gold()[1] + gold()[2]
    assert tagger_of(nlp).model.predict([doc]).lengths.tolist() == [4, 3]


def test_annotating_one_doc():
    nlp = ready()
    doc = doc_of(nlp, "the cat")
    tagger_of(nlp).set_annotations(doc, tagger_of(nlp).predict([doc]))
    assert [t.tag_ for t in doc] == ["D", "N"]
