"""Components of pipelines that were trained apart work in one: tables of words, listeners, noun chunks."""

from itertools import permutations

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config

import spacy_hoseq
from spacy_hoseq.features.word_classes import WORD_CLASSES_TABLE, word_classes
from spacy_hoseq.pipelines.recipes import RECIPES, recipe

from ..builders import learn, packaged, spans_of, unannotated
from .test_factories import gold

WORDS = "the dog runs in Leeds . Ann Lee sees it".split()
PIPELINES = ("en", "zh", "af", "cy")
QUICK = [("entities", "af"), ("cy", "tagger")]
NAMES = [*RECIPES, *PIPELINES]
EVERY = [*permutations(NAMES, 2)]
# each behind the one before it
NEXT = [(first, second) for first, second in EVERY if NAMES.index(second) == NAMES.index(first) + 1]
LONG = [*QUICK, ("entities", "en"), ("en", "tagger"), ("en", "entities"), *NEXT]
quiet = pytest.mark.filterwarnings(r"ignore:\[(HW003|HW005|W113)\]")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """By name: a recipe that has learnt a little, or a pipeline of the package, as it is loaded."""
    folder = tmp_path_factory.mktemp("compose")

    def load(name: str) -> Language:
        if name in PIPELINES:
            return packaged(name)
        path = folder / name
        if not path.exists():
            texts = folder / f"{name}.spacy"
            DocBin(docs=[gold(spacy.blank("xx"))]).to_disk(texts)
            config = Config().from_str(recipe(name), overrides={"paths.train": str(texts)})
            nlp = load_model_from_config(config.interpolate(), auto_fill=True)
            docs = [gold(nlp)]
            examples = [Example(unannotated(doc, nlp.vocab), doc) for doc in docs * 6]
            learn(nlp, examples, 2, annotates=nlp.pipe_names)
            nlp.to_disk(path)
        return spacy.load(path)

    return load


def annotated(nlp, names):
    """What the components of these names write on a Doc of given words."""
    with nlp.select_pipes(enable=names):
        doc = nlp(Doc(nlp.vocab, words=WORDS))
    spans = {key: spans_of(group) for key, group in doc.spans.items()}
    tokens = [(t.tag_, t.pos_, str(t.morph), t.lemma_, t.ent_type_, t.is_sent_start) for t in doc]
    return tokens, spans


def together(first, second):
    """The first pipeline, with the components of the second behind its own. RETURNS the names of both."""
    own = first.pipe_names
    added = []
    for name in second.pipe_names:
        new = f"{name}_of_second" if name in own else name
        first.add_pipe(name, new, source=second)
        added.append(new)
    return own, added


def pytest_generate_tests(metafunc):
    """--slow: every pair."""
    if "second" in metafunc.fixturenames:
        pairs = EVERY if metafunc.config.getoption("--slow") else LONG
        marks = {pair: () if pair in QUICK else pytest.mark.long for pair in pairs}
        values = [pytest.param(*pair, marks=marks[pair]) for pair in pairs]
        metafunc.parametrize("first, second", values)


@quiet
def test_two_in_one_pipeline(saved, tmp_path, first, second):
    """Each writes what it writes alone, also when both are saved."""
    alone = [annotated(nlp, nlp.pipe_names) for nlp in (saved(first), saved(second))]
    nlp = saved(first)
    names = together(nlp, saved(second))
    for both in (nlp, _reloaded(nlp, tmp_path)):
        assert [annotated(both, of) for of in names] == alone
        assert len(both(Doc(both.vocab, words=WORDS))) == len(WORDS)


def _reloaded(nlp, path):
    nlp.to_disk(path)
    return spacy.load(path)


def with_classes(folder, name):
    """A tagger that knows words by the class {name} alone."""
    path = folder / f"{name}.tsv"
    path.write_text(f"a\t{name}\nb\t\n", "utf8")
    nlp = spacy.blank("xx")
    emissions = {"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": ["word_class1[0]"]}
    nlp.add_pipe("hoseq_tagger", name, config={"model": {"emissions": emissions}})
    classes = word_classes(path).get_table(WORD_CLASSES_TABLE)
    nlp.vocab.lookups.set_table(WORD_CLASSES_TABLE, classes)
    doc = Doc(nlp.vocab, words=["a", "b"], tags=[name, "other"])
    return learn(nlp, [Example(Doc(nlp.vocab, words=["a", "b"]), doc)], 5)


@pytest.fixture
def both(tmp_path):
    nlp = with_classes(tmp_path, "X")
    nlp.add_pipe("Y", source=with_classes(tmp_path, "Y"))
    return nlp


def tags(nlp, name, text="a b"):
    with nlp.select_pipes(enable=name):
        return [token.tag_ for token in nlp(text)]


def test_each_reads_its_own_table(both, tmp_path):
    """Also before any text, in bytes, and taken over once more."""
    both.to_disk(tmp_path / "first")
    assert not (tmp_path / "first" / "X" / "tables").exists()
    copy = spacy.blank("xx").from_config(both.config).from_bytes(both.to_bytes())
    again = spacy.blank("xx")
    for name in ("Y", "X"):
        again.add_pipe(name, source=both)
    saved = [_reloaded(both, tmp_path / "saved"), _reloaded(again, tmp_path / "again")]
    for nlp in (both, copy, again, *saved):
        assert tags(nlp, "X") == ["X", "other"] and tags(nlp, "Y") == ["Y", "other"]
    assert both.get_pipe("X").vocab is both.vocab


def test_equal_tables_are_one(tmp_path):
    nlp = with_classes(tmp_path, "X")
    nlp.add_pipe("X", "Z", source=with_classes(tmp_path, "X"))
    nlp("a b")
    loaded = _reloaded(nlp, tmp_path / "saved")
    for each in (nlp, loaded):
        table = each.vocab.lookups.get_table(WORD_CLASSES_TABLE)
        assert each.get_pipe("Z").tables.held.get_table(WORD_CLASSES_TABLE) is table
    assert not loaded.get_pipe("Z").has_own_tables


def stacked(*names):
    """A pipeline of components with their defaults, trained."""
    nlp = spacy.blank("xx")
    for name in names:
        nlp.add_pipe(name)
    examples = [Example(Doc(nlp.vocab, words=[t.text for t in gold(nlp)]), gold(nlp))] * 3
    learn(nlp, examples, 10, annotates=nlp.pipe_names)
    return nlp


def heard(nlp):
    """How many features of a tagger's labels the chunker has."""
    return len(nlp.get_pipe("hoseq_chunker").model.layers[0].layers[1].shims[0].extra["keys"])


@quiet
def test_bare_chunker_reads_the_probabilities_of_a_tagger(tmp_path):
    nlp = stacked("hoseq_tagger", "hoseq_chunker")
    assert heard(nlp) and nlp.get_pipe("hoseq_tagger").listening_components == ["hoseq_chunker"]
    text = "the cats run ."
    chunks = [span.text for span in nlp(text).noun_chunks]
    assert chunks == ["the cats"]
    loaded = _reloaded(nlp, tmp_path)
    assert [span.text for span in loaded(text).noun_chunks] == chunks
    with loaded.select_pipes(disable="hoseq_tagger"), pytest.raises(ValueError, match="HS100"):
        loaded(text)


def test_defaults_of_tagger_and_chunker_fit_each_other():
    """They learn without a warning: the tagger is trained for the probabilities that the chunker reads."""
    nlp = stacked("hoseq_tagger", "hoseq_chunker")
    doc = nlp("the cats run .")
    assert [token.tag_ for token in doc] == ["D", "N", "V", "."]
    assert nlp.get_pipe("hoseq_tagger").is_calibrated


@quiet
@pytest.mark.parametrize("others", [[], ["hoseq_senter"], ["hoseq_morphologizer"]])
def test_bare_chunker_without_a_tagger(tmp_path, others):
    """It reads words, also when it is loaded beside a tagger later."""
    nlp = stacked(*others, "hoseq_chunker")
    assert not heard(nlp)
    expected = [span.text for span in nlp("the cats run .").noun_chunks]
    nlp.add_pipe("hoseq_tagger", source=stacked("hoseq_tagger"), first=True)
    for each in (nlp, _reloaded(nlp, tmp_path)):
        found = [span.text for span in each("the cats run .").noun_chunks]
        assert found == expected == ["the cats"]


@quiet
def test_listener_is_refused_without_its_tagger():
    """By the first text: spaCy does not tell a component that it is sourced."""
    source = stacked("hoseq_tagger", "hoseq_chunker")
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_chunker", source=source)
    with pytest.raises(ValueError, match=r"\[HS100\].*hoseq_tagger"):
        nlp("the cats run .")
    nlp.add_pipe("hoseq_tagger", source=source, first=True)
    assert [span.text for span in nlp("the cats run .").noun_chunks] == ["the cats"]


@pytest.mark.filterwarnings("ignore::UserWarning:spacy")
def test_lemmatizer_alone_says_what_it_misses():
    nlp = spacy.blank("en")
    with pytest.warns(UserWarning, match="HW005"):
        nlp.add_pipe("hoseq_lemmatizer", source=spacy_hoseq.load("en"))
        nlp("The dogs ran.")
