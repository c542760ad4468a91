"""What each factory says of its component: what it assigns, what it requires, what it is scored by."""

from functools import cache

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, SpanGroup
from spacy.training import Example

import spacy_hoseq

from ..builders import learn
from .test_factories import FACTORIES, gold

TEXTS = {
    "en": "Ada Lovelace moved to London in 1835. She wrote the first programs for Charles Babbage.",
    "zh": "王小明在北京大学学习。长江是中国最长的河流。",
    "af": "Die kinders speel in Kaapstad. Hulle ouers het hulle gesien.",
    "cy": "Mae'r plant yn chwarae yng Nghaerdydd. Gwelodd eu rhieni nhw.",
}
COLUMNS = {
    f"token.{name}": name.upper()
    for name in ("tag", "pos", "morph", "lemma", "ent_iob", "ent_type", "dep", "norm", "ent_id")
} | {"token.is_sent_start": "SENT_START"}
# Metadata belong to a factory, with its default settings. By their settings, these components
# assign and require more:
BY_SETTINGS = {
    ("af", "hoseq_morphologizer"): ({"token.tag"}, set()),  # with_tag
    ("cy", "hoseq_morphologizer"): ({"token.tag"}, set()),
    ("en", "hoseq_morphologizer"): (set(), {"token.tag"}),  # templates
    ("en", "hoseq_lemmatizer"): (set(), {"token.tag"}),
    ("en", "hoseq_entities"): (set(), {"token.tag"}),
    ("zh", "hoseq_entities"): (set(), {"token.tag"}),
}


@cache
def trained(pipeline: str) -> Language:
    """A packaged pipeline, or, by the name of a factory, one of this alone with its defaults."""
    if pipeline in TEXTS:
        return spacy_hoseq.load(pipeline)
    nlp = spacy.blank("xx")
    nlp.add_pipe(pipeline)
    example = Example(Doc(nlp.vocab, words=[token.text for token in gold(nlp)]), gold(nlp))
    learn(nlp, [example] * 3, 15)
    return nlp


@cache
def annotated(pipeline: str) -> Doc:
    """A text with all layers."""
    nlp = trained(pipeline)
    return nlp(TEXTS[pipeline]) if pipeline in TEXTS else gold(nlp)


def layers(doc: Doc) -> dict[str, object]:
    """Everything that components write on a Doc, by spaCy's names."""
    found = {name: doc.to_array([column]).tolist() for name, column in COLUMNS.items()}
    found["doc.ents"] = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    for key, group in doc.spans.items():
        found[f"doc.spans {key}"] = [(span.start, span.end, span.label_) for span in group]
    return found | {"doc.user_data": dict(doc.user_data)}


def doc_with(full: Doc, names: set[str]) -> Doc:
    """The words of a text with some of its layers."""
    spaces = [bool(token.whitespace_) for token in full]
    doc = Doc(full.vocab, words=[token.text for token in full], spaces=spaces)
    if "doc.ents" in names:
        doc.set_ents(list(full.ents))
    if "doc.spans" in names:
        for key, group in full.spans.items():
            spans = [doc.char_span(s.start_char, s.end_char, s.label_) for s in group]
            doc.spans[key] = SpanGroup(doc, name=key, spans=spans)
    columns = [column for name, column in COLUMNS.items() if name in names]
    if columns:
        doc.from_array(columns, full.to_array(columns).reshape(len(full), -1))
    return doc


PARTS = {"en": "sentences tagger morphologizer lemmatizer chunker entities"}
PARTS |= {name: "morphologizer lemmatizer" for name in ("af", "cy")} | {"zh": "tagger entities"}
PACKAGED = [(name, f"hoseq_{part}") for name, parts in PARTS.items() for part in parts.split()]
EACH = [*PACKAGED, *((factory, factory) for factory in FACTORIES)]
pytestmark = [
    pytest.mark.parametrize("pipeline, name", EACH),
    pytest.mark.filterwarnings(r"ignore:\[HW005\]"),  # lemmas without parts of speech
]


def meta_of(pipeline, name):
    """What a component assigns, and what it requires."""
    meta = Language.get_factory_meta(trained(pipeline).get_pipe_config(name)["factory"])
    assigns, requires = BY_SETTINGS.get((pipeline, name), (set(), set()))
    assert not assigns & {*meta.assigns} and not requires & {*meta.requires}
    return {*meta.assigns} | assigns, {*meta.requires} | requires, meta


def test_assigns_what_changes(pipeline, name):
    """And nothing else, on a Doc that has nothing but what the component requires."""
    assigns, requires, meta = meta_of(pipeline, name)
    before = doc_with(annotated(pipeline), requires)
    after = trained(pipeline).get_pipe(name)(before.copy())
    old, new = layers(before), layers(after)
    changed = {layer.split()[0] for layer in new if new[layer] != old.get(layer)}
    assert changed == assigns
    assert meta.retokenizes is False and [t.text for t in after] == [t.text for t in before]


def test_requires_what_it_reads(pipeline, name):
    """Beside that, no layer of another component counts but sentences, which all labels stay in."""
    assigns, requires, _ = meta_of(pipeline, name)
    every = {*COLUMNS, "doc.ents", "doc.spans"} - assigns
    sentences = {"token.is_sent_start"} - assigns
    pipe = trained(pipeline).get_pipe(name)
    found = []
    for names in (requires | sentences, every):
        found.append(layers(pipe(doc_with(annotated(pipeline), names))))
    for layer in found[0].keys() | found[1].keys():
        if layer.split()[0] in assigns:
            assert found[0][layer] == found[1].get(layer)


def test_scores_are_returned(pipeline, name):
    nlp, full = trained(pipeline), annotated(pipeline)
    scores = nlp.evaluate([Example(doc_with(full, set()), full)])
    weights = meta_of(pipeline, name)[2].default_score_weights
    assert weights and weights.keys() <= scores.keys()
    assert max(weight or 0 for weight in weights.values()) > 0
