"""Each factory: its class, its defaults, what it says of itself, settings that cannot be."""

import re
import subprocess
import sys

import pytest
import spacy
from spacy import ty
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.components.bidirectional_tagger import HoseqBidirectionalTagger
from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.components.lemmatizer import HoseqLemmatizer
from spacy_hoseq.components.morphologizer import HoseqMorphologizer
from spacy_hoseq.components.structured import StructuredComponent
from spacy_hoseq.components.tagger import HoseqTagger
from spacy_hoseq.learning.adagrad import AdaGrad

from ..builders import learn, unannotated
from ..docs.pages import PAGES
from ..test_imports import PACKAGE
from .bidirectional_helpers import local
from .helpers import tagger_model
from .kinds import KINDS
from .test_tools import CANNOT

OF_SPANS = ["spans_chunks_f", "spans_chunks_p", "spans_chunks_r"]
OF_ENTS = ["ents_f", "ents_p", "ents_r", "ents_per_type"]
FACTORIES = {
    "hoseq_tagger": (HoseqTagger, ["token.tag"], [], ["tag_acc"], "english_pos"),
    "hoseq_senter": (HoseqTagger, ["token.is_sent_start"], [], ["sents_f", "sents_p", "sents_r"], "sentences"),
    "hoseq_chunker": (HoseqChunker, ["doc.spans"], ["token.tag"], OF_SPANS, "english_pos"),
    "hoseq_ner": (HoseqChunker, ["doc.ents", "token.ent_iob", "token.ent_type", "doc.spans"], [], OF_ENTS, "entities"),
    "hoseq_morphologizer": (
        HoseqMorphologizer, ["token.morph", "token.pos"], [], ["pos_acc", "morph_acc", "morph_per_feat"], "morphology",
    ),
    "hoseq_lemmatizer": (HoseqLemmatizer, ["token.lemma"], ["token.pos", "token.morph"], ["lemma_acc"], "lemmas"),
    "hoseq_bidirectional_tagger": (HoseqBidirectionalTagger, ["token.tag"], [], ["tag_acc"], "bidirectional_pos"),
}  # fmt: skip


def gold(nlp):
    words = "the cats run . the dog sees cats .".split()
    tags, lemmas = "D N V . D N V N .".split(), "the cat run . the dog see cat .".split()
    pos = "DET NOUN VERB PUNCT DET NOUN VERB NOUN PUNCT".split()
    starts = [i in (0, 4) for i in range(len(words))]
    doc = Doc(nlp.vocab, words=words, tags=tags, pos=pos, lemmas=lemmas, sent_starts=starts)
    spans = [Span(doc, 0, 2, "NP"), Span(doc, 4, 6, "NP"), Span(doc, 7, 8, "NP")]
    doc.spans["chunks"] = spans
    doc.set_ents(spans)
    return doc


@pytest.mark.filterwarnings(r"ignore:\[HW005\]")  # lemmas without parts of speech
@pytest.mark.parametrize("name", FACTORIES)
def test_factory(name):
    """With its defaults it learns, and is evaluated by the scores that it names."""
    kind, assigns, requires, scores, templates = FACTORIES[name]
    nlp = spacy.blank("xx")
    component = nlp.add_pipe(name)
    assert type(component) is kind
    assert isinstance(component, ty.TrainableComponent)
    assert isinstance(component, ty.InitializableComponent)
    is_structured = isinstance(component, StructuredComponent)
    assert isinstance(component, ty.ListenedToComponent) == is_structured
    assert component.is_trainable and not component.is_resizable
    said = nlp.analyze_pipes()["summary"][name]
    assert said == dict(assigns=assigns, requires=requires, scores=scores, retokenizes=False)
    model = nlp.get_pipe_config(name)["model"]
    emissions = model.get("emissions", model)
    assert emissions.get("first", emissions)["templates"]["name"] == templates
    example = Example(Doc(nlp.vocab, words=[token.text for token in gold(nlp)]), gold(nlp))
    learn(nlp, [example] * 3, 25)
    found = nlp.evaluate([Example(unannotated(gold(nlp), nlp.vocab), gold(nlp))])
    assert found[scores[0]] == 1.0


BIDIRECTIONAL = "hoseq_bidirectional_tagger"


@pytest.mark.parametrize(
    "factory, settings",
    [
        ("hoseq_tagger", {"attribute": "dep"}),
        ("hoseq_tagger", {"objective": "nonsense"}),
        ("hoseq_chunker", {"span_threshold": 1.5}),
        ("hoseq_chunker", {"representation": "iob1"}),
        (BIDIRECTIONAL, {"strategy": "inside_out"}),
        (BIDIRECTIONAL, {"representation": "iob3"}),
        (BIDIRECTIONAL, {"width": -1.0}),
        (BIDIRECTIONAL, {"attribute": "dep"}),
        (BIDIRECTIONAL, {"save_decisions": True, "strategy": "left_to_right"}),
        (BIDIRECTIONAL, {"save_decisions": True, "strategy": "full_bidirectional"}),
        (BIDIRECTIONAL, {"model": local(order=3)}),
        (BIDIRECTIONAL, {"model": local(min_count=0)}),
        (BIDIRECTIONAL, {"model": local(["bias", "label[0]"])}),
        (BIDIRECTIONAL, {"model": local([])}),
    ],
)
def test_impossible_settings(factory, settings):
    """Of a config; spaCy refuses names that are none of a list by its own."""
    with pytest.raises(ValueError):
        spacy.blank("xx").add_pipe(factory, config=settings)


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"objective": "nonsense"}, "HS161"),
        ({"update_rule": 3}, "HS027"),
        ({"representation": "nonsense"}, "HS161"),
        ({"representation": "iob1"}, "HS161"),
        ({"representation": "ioe2"}, "HS161"),
        ({"span_threshold": -0.1}, "HS027"),
    ],
)
def test_impossible_settings_of_the_class(settings, code):
    model = spacy.util.registry.resolve({"model": tagger_model()})["model"]
    possible = {"objective": "max_margin", "update_rule": AdaGrad()}
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        HoseqChunker(spacy.blank("xx").vocab, model, **{**possible, **settings})


# Factories load what a component needs, and nothing else: whoever starts a worker waits for it


NEEDED = {
    "arrays", "caches", "chunks", "components", "decoders", "errors", "features", "lazy_names", "layers", "learning",
    "messages", "patterns", "scorers", "words",
}  # fmt: skip
STEMS = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_")}
OTHERS = STEMS - {"py"} - NEEDED

PROGRAM = """
import sys
import spacy, spacy.lang.en, numpy.typing  # spaCy loads NumPy, but for its names of types
before = set(sys.modules)
from spacy_hoseq.components import bidirectional_tagger, chunker, morphologizer, tagger
print(*sorted(set(sys.modules) - before))
"""


def test_nothing_is_loaded_in_vain():
    """No rooms of commands, reports, readers or batches; no library beyond spaCy's own."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    loaded = run.stdout.split()
    known = {"spacy_hoseq", *sys.stdlib_module_names}
    assert not [name for name in loaded if name.split(".")[0] not in known]
    assert not {name.split(".")[1] for name in loaded if name.count(".")} & OTHERS
    assert {"cli", "readers", "reporting", "inspection", "batch"} <= OTHERS


# docs/reference/components.md has a row for each component, with the codes of what it cannot do


NAMES = {"save_marginals": "marginals", "serve": "explain", "save_decisions": "marginals"}
PAGE = "docs/reference/components.md"


def test_the_docs_say_what_components_cannot_do():
    lines = [line for line in PAGES[PAGE].splitlines() if line.startswith("|")]
    header, *rows = [re.split(r"\s*\|\s*", line)[1:-1] for line in lines]
    found = {}
    for row in rows[1:]:
        for title, cell in zip(header[1:], row[1:], strict=True):
            for task in re.findall(r"`([^`]+)`", title):
                found[row[0].replace("`", ""), NAMES.get(task, task)] = cell
    assert {row for row, _ in found} == {kind.column for kind in KINDS}
    wanted = {place: code for place, code in CANNOT.items() if place[1] != "serve"}
    assert {place: cell for place, cell in found.items() if cell != "yes"} == wanted
