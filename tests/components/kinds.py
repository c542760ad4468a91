"""The trainable components of the package, as the contract sees them: a component is an entry of `KINDS`.

All learn from the same corpus, the first sentences of `assets/en`, with several layers of annotation. Parts of speech
and features are made from the tags by a small table: they need not be right, only learnable.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span, SpanGroup, Token
from spacy.training import Corpus, Example

from ..builders import layer

ASSETS = Path(__file__).parents[2] / "assets" / "en"
LANG = "xx"  # its tokenizer has few exceptions: a pipeline loads in a third of the time of an English one
N_TRAIN, N_DEV, TOGETHER = 120, 24, 4  # sentences; of one text
MOOD = "contract_mood"  # an extension attribute of tokens
TEMPLATES = "bias lower[0] lower[-1] lower[1] suffix2[0] suffix3[0] prefix1[0] is_title[0]".split()
CONTEXTS = [*TEMPLATES, "label[-1]", "label[1]"]
STRATEGIES = (
    "easiest_first", "easiest_last", "left_to_right", "right_to_left", "dependency_network", "full_bidirectional",
)  # fmt: skip
UPOS = {
    "NN": ("NOUN", "Number=Sing"), "NNS": ("NOUN", "Number=Plur"), "NNP": ("PROPN", "Number=Sing"),
    "VBD": ("VERB", "Tense=Past"), "VBZ": ("VERB", "Number=Sing|Tense=Pres"), "VBP": ("VERB", "Tense=Pres"),
    "VB": ("VERB", ""), "VBN": ("VERB", "VerbForm=Part"), "DT": ("DET", ""), "IN": ("ADP", ""), "JJ": ("ADJ", ""),
    "RB": ("ADV", ""), "CC": ("CCONJ", ""), "PRP": ("PRON", ""), "CD": ("NUM", "NumType=Card"),
    ",": ("PUNCT", ""), ".": ("PUNCT", ""),
}  # fmt: skip
TAGGER = "hoseq_tagger"
GREEDY = "hoseq_bidirectional_tagger, easiest first or last"
NOT_GREEDY = "hoseq_bidirectional_tagger, other strategies"
EMISSIONS = layer("SparseLinear", templates=TEMPLATES)
SPARSE = layer("HigherOrderTagger", patterns=None, emissions=EMISSIONS)
PARTS = {"@misc": "spacy_hoseq.morphological_parts.v1"}
LOCAL = {"@architectures": "spacy_hoseq.LocalClassifiers.v1", "order": 1, "templates": CONTEXTS}


class Kind(NamedTuple):
    """factory, config: of the component, which is named after the kind. score: what `evaluate` calls its main score,
    and how large it is at least after training. place: of its labels, as tools call it. keeps (str): setting by which
    probabilities stay on the Docs, "" = none; under: the extension. column: in the table of the docs.
    """

    name: str
    factory: str
    config: dict[str, Any]
    score: tuple[str, float]
    place: str
    keeps: str = "save_marginals"
    under: str = "hoseq_marginals"
    column: str = TAGGER

    def __str__(self) -> str:
        return self.name


def bidirectional(strategy: str) -> Kind:
    greedy = strategy in ("easiest_first", "easiest_last")
    config = {"strategy": strategy, "model": LOCAL, "width": 0.05}
    keeps = ("save_decisions", "hoseq_decisions") if greedy else ("", "")
    column = GREEDY if greedy else NOT_GREEDY
    factory, score = "hoseq_bidirectional_tagger", ("tag_acc", 0.6)
    return Kind(strategy, factory, config, score, "tag", *keeps, column)


OTHER = "hoseq_tagger, other attributes"
SLOW = (
    "easiest_last", "right_to_left", "dependency_network", "full_bidirectional", "entities", "sentences", "extension",
    "lemmatizer",
)  # fmt: skip
NER = {"@scorers": "spacy.ner_scorer.v1"}
NAMES = {"spans_key": "names", "annotate_ents": True, "scorer": NER, "span_threshold": 0.3}
MORPHS = {**SPARSE, "label_pairs": False, "parts": PARTS}


def kind(name: str, factory: str, score: Any, place: str, column: str = "", **config: Any) -> Kind:
    config = {"model": SPARSE, **config}
    return Kind(name, factory, config, score, place, column=column or factory)


KINDS = [
    Kind("tagger", "hoseq_tagger", {"model": SPARSE}, ("tag_acc", 0.6), "tag"),
    *map(bidirectional, STRATEGIES),
    kind("chunker", "hoseq_chunker", ("spans_chunks_f", 0.4), "spans.chunks"),
    kind("entities", "hoseq_chunker", ("ents_f", 0.4), "spans.names", **NAMES),
    kind("morphologizer", "hoseq_morphologizer", ("pos_acc", 0.6), "morph", model=MORPHS),
    kind("lemmatizer", "hoseq_lemmatizer", ("lemma_acc", 0.6), "lemma"),
    kind("sentences", TAGGER, ("sents_f", 0.3), "sent_start", OTHER, attribute="sent_start"),
    kind("extension", TAGGER, (f"{MOOD}_acc", 0.6), f"_.{MOOD}", OTHER, attribute=f"_.{MOOD}"),
]


def sentences_of(path: Path, n: int) -> list[list[list[str]]]:
    blocks = path.read_text("utf8").strip().split("\n\n")[:n]
    return [[line.split(" ") for line in block.split("\n")] for block in blocks]


def annotated(vocab: Any, path: Path, n: int) -> list[Doc]:
    """Texts of some sentences each, with all layers."""
    if not Token.has_extension(MOOD):
        Token.set_extension(MOOD, default="")
    sentences = sentences_of(path, n)
    groups = [sentences[i : i + TOGETHER] for i in range(0, len(sentences), TOGETHER)]
    return [annotated_doc(vocab, group) for group in groups]


def lemma_of(word: str, tag: str) -> str:
    """Lower case, without the s of plurals: not right, but learnable."""
    lemma = word.lower()
    return lemma[:-1] if tag == "NNS" and lemma.endswith("s") else lemma


def annotated_doc(vocab: Any, sentences: list[list[list[str]]]) -> Doc:
    rows = [row for sentence in sentences for row in sentence]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
    tags = [tag[:2] for _, tag, _ in rows]  # fewer labels, so that all strategies are quick
    known = [UPOS.get(tag, ("X", "")) for _, tag, _ in rows]
    words = [word for word, _, _ in rows]
    pos, morphs = map(list, zip(*known, strict=True))
    lemmas = [lemma_of(word, tag) for word, tag, _ in rows]
    layers = {"tags": tags, "pos": pos, "morphs": morphs, "lemmas": lemmas}
    doc = Doc(vocab, words=words, sent_starts=starts, **layers)
    begins = [i for i, (_, _, chunk) in enumerate(rows) if chunk.startswith("B-")]
    spans = []
    for first in begins:
        end = first + 1
        while end < len(rows) and rows[end][2].startswith("I-"):
            end += 1
        spans.append(Span(doc, first, end, rows[first][2][2:]))
    doc.spans["chunks"] = SpanGroup(doc, name="chunks", spans=spans)
    doc.set_ents([span for span in spans if span.label_ == "NP"])
    for token in doc:
        token._.set(MOOD, "vowel" if token.lower_[0] in "aeiou" else "other")
    return doc


def blank(kind: Kind, **settings: Any) -> Language:
    nlp = spacy.blank(LANG)
    nlp.add_pipe(kind.factory, kind.name, config={**kind.config, **settings})
    return nlp


def config_of(kind: Kind, folder: Path) -> Any:
    """For `spacy train`, over the files of `write_corpus`."""
    config = blank(kind).config.copy()
    config["paths"].update({"train": str(folder / "train.spacy"), "dev": str(folder / "dev.spacy")})
    config["training"].update(max_epochs=3, eval_frequency=44, patience=0, dropout=0.0)
    config["training"]["batcher"] = {"@batchers": "spacy.batch_by_sequence.v1", "size": 2}
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v3", "progress_bar": None}
    config["training"]["score_weights"] = {kind.score[0]: 1.0}
    return config


def write_corpus(folder: Path) -> None:
    vocab = spacy.blank(LANG).vocab
    for name, n in (("train", N_TRAIN), ("dev", N_DEV)):
        docs = annotated(vocab, ASSETS / f"{name}.conll", n)
        DocBin(docs=docs, store_user_data=True).to_disk(folder / f"{name}.spacy")


def examples_of(nlp: Language, folder: Path, name: str = "dev") -> list[Example]:
    return list(Corpus(folder / f"{name}.spacy")(nlp))


def labels_of(doc: Doc, kind: Kind) -> list[Any]:
    """What the component has written on a Doc."""
    if kind.place.startswith("spans."):
        key = kind.place.partition(".")[2]
        ents = [(e.start, e.end, e.label_) for e in doc.ents]
        return [*((s.start, s.end, s.label_) for s in doc.spans[key]), *ents]
    if kind.place.startswith("_."):
        return [token._.get(kind.place[2:]) for token in doc]
    if kind.place == "sent_start":
        return [token.is_sent_start for token in doc]
    if kind.place == "morph":
        return [(token.pos_, str(token.morph)) for token in doc]
    return [getattr(token, f"{kind.place}_") for token in doc]


def kept(doc: Doc, kind: Kind) -> dict[str, Any] | None:
    """The probabilities that the component has left on a Doc."""
    found: Any = doc.user_data.get(("._.", kind.under, None, None))
    return (found or {}).get(kind.name)


def texts(gold: list[Example]) -> list[str]:
    return [eg.reference.text for eg in gold]


def said(nlp: Language, gold: list[Example], kind: Kind) -> list[Any]:
    """What the component writes on the Docs of the gold texts."""
    return [labels_of(doc, kind) for doc in nlp.pipe(texts(gold))]


LONG = {name: [pytest.mark.long] for name in SLOW}
EACH = [pytest.param(kind, id=kind.name, marks=LONG.get(kind.name, [])) for kind in KINDS]
