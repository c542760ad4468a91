"""What is trained, loaded and labelled for the golden files: eight recipes, trained for seconds on the corpora in
assets/, and the two pipelines that come with the package."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example, biluo_tags_to_spans, iob_to_biluo
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from spacy_hoseq.pipelines import embedded_path
from spacy_hoseq.recipes import recipe

from ..builders import misc

ROOT = Path(__file__).parents[2]
UPDATES = 20
BATCH = 3  # sentences of an update
N_TRAIN = 30  # sentences: 20 updates see each of them twice
N_LABELLED = 15  # sentences
BATCH_SIZES = (1, 7, 1000)
# by the first letter of a tag
PARTS_OF_SPEECH = {"D": "DET", "N": "NOUN", "V": "VERB", "I": "ADP", "J": "ADJ"}


class System(NamedTuple):
    """recipe and its settings; attributes: what the pipeline is given beside the words."""

    recipe: str
    settings: dict[str, Any]
    attributes: tuple[str, ...] = ()


TAGGER = "components.hoseq_tagger"
CHUNKER = "components.hoseq_chunker"
MORPHOLOGIZER = "components.hoseq_morphologizer"
FORMER_TEMPLATES = [
    "bias", "orth[0]", "lower[-2..2]", "lower[-1]+lower[0]", "lower[0]+lower[1]", "lower[-1]+lower[1]",
    "prefix1..10[0]", "suffix1..10[0]", "infix1..6[0]", "short_infix1..6[0]", "suffix2..4[-1]", "suffix2..4[1]",
    "suffix3[-1]+suffix3[0]", "suffix3[0]+suffix3[1]", "shape[-1..1]", "short_shape[0]", "char_classes[0]",
    "has_digit[0]", "has_hyphen[0]", "has_upper[0]",
]  # fmt: skip
BIDIRECTIONAL = "components.hoseq_bidirectional_tagger"
JOINT = {f"{each}.save_marginals": True for each in (TAGGER, CHUNKER)}
JOINT[f"{CHUNKER}.model.emissions.second.upstream.grad_factor"] = 1.0
ENTITIES = {f"{CHUNKER}.save_marginals": True}
ENTITIES[f"{CHUNKER}.model.emissions.templates"] = misc("templates", name="entities")
MORPHS = {f"{MORPHOLOGIZER}.save_marginals": True}
MORPHS[f"{MORPHOLOGIZER}.model.emissions.templates"] = FORMER_TEMPLATES
SYSTEMS = {
    "tagger": System("tagger", {f"{TAGGER}.save_marginals": True}),
    "higher-order": System("higher-order", {f"{TAGGER}.save_marginals": True}),
    "crf": System("crf", {}),
    "bidirectional": System("bidirectional", {f"{BIDIRECTIONAL}.save_decisions": True}),
    "chunker": System("chunker", {f"{CHUNKER}.save_marginals": True}, ("tag",)),
    "joint": System("pipeline", JOINT),
    "entities": System("entities", ENTITIES),
    "morphologizer": System("morphologizer", MORPHS),
}
STRATEGIES = "easiest_first easiest_last left_to_right right_to_left dependency_network".split()
STRATEGIES += ["full_bidirectional"]
EMBEDDED = {"en_hoseq_sm": ("en", " "), "zh_hoseq_sm": ("zh", "")}


class Sentence(NamedTuple):
    words: list[str]
    tags: list[str]
    chunks: list[str]


def sentences(lang: str, part: str, limit: int) -> list[Sentence]:
    """The first ones of a corpus in assets/. Chinese has no chunks."""
    path = ROOT / "assets" / lang / (f"{part}.conll" if lang == "en" else f"{part}.conllu")
    return list(_read(path, limit))


def _read(path: Path, limit: int) -> Iterator[Sentence]:
    for block in path.read_text("utf8").strip().split("\n\n")[:limit]:
        rows = [line.split() for line in block.splitlines() if not line.startswith("#")]
        if path.suffix == ".conll":
            yield Sentence(*([row[column] for row in rows] for column in range(3)))
        else:
            yield Sentence([row[1] for row in rows], [row[4] for row in rows], ["O"] * len(rows))


def gold_doc(nlp: Language, sentence: Sentence) -> Doc:
    """With every layer that a recipe may learn."""
    starts = [i == 0 for i in range(len(sentence.words))]
    doc = Doc(nlp.vocab, words=sentence.words, tags=sentence.tags, sent_starts=starts)
    for token in doc:
        token.pos_ = PARTS_OF_SPEECH.get(token.tag_[0], "X")
        token.set_morph("Number=Plur" if token.tag_ == "NNS" else None)
    chunks = biluo_tags_to_spans(doc, iob_to_biluo(sentence.chunks))
    doc.spans["chunks"] = [Span(doc, span.start, span.end, span.label_) for span in chunks]
    doc.set_ents(list(doc.spans["chunks"]))
    return doc


def given_doc(nlp: Language, system: System, sentence: Sentence) -> Doc:
    """What the pipeline is given: words, and the attributes that it asks for."""
    tags = sentence.tags if "tag" in system.attributes else None
    return Doc(nlp.vocab, words=sentence.words, tags=tags)


def blank(name: str, lang: str) -> Language:
    """A pipeline that has learnt nothing."""
    system = SYSTEMS[name]
    overrides = {**system.settings, "nlp.tokenizer.@tokenizers": "spacy.Tokenizer.v1"}
    config = Config().from_str(recipe(system.recipe, lang), overrides=overrides)
    return load_model_from_config(config, auto_fill=True)


def training() -> list[Sentence]:
    return sentences("en", "train", N_TRAIN)


def short_training() -> list[Sentence]:
    """For the models whose files are kept: as small as they can be."""
    made = sentences("en", "train", 200)
    return sorted(made, key=lambda sentence: abs(len(sentence.words) - 9))[:3]


def trained(
    name: str, lang: str, corpus: list[Sentence]
) -> tuple[Language, list[dict[str, float]]]:
    """20 updates. RETURNS the pipeline, and the loss of each component in each update."""
    system = SYSTEMS[name]
    nlp = blank(name, lang)
    optimizer = nlp.initialize(lambda: _examples(nlp, system, corpus))
    examples = _examples(nlp, system, corpus)
    losses = []
    for number in range(UPDATES):
        first = number * BATCH % len(examples)
        loss: dict[str, float] = {}
        nlp.update(examples[first : first + BATCH], drop=0.2, sgd=optimizer, losses=loss)
        losses.append({pipe: float(value) for pipe, value in loss.items()})
    return nlp, losses


def _examples(nlp: Language, system: System, corpus: list[Sentence]) -> list[Example]:
    docs = [(given_doc(nlp, system, each), gold_doc(nlp, each)) for each in corpus]
    return [Example(*pair) for pair in docs]


def labelled(nlp: Language, system: System | None, batch_size: int) -> list[dict[str, Any]]:
    """What the pipeline says of sentences that it has not seen. system: None for one that comes with the package."""
    if system is None:
        lang, space = EMBEDDED[f"{nlp.meta['lang']}_{nlp.meta['name']}"]
        texts: list[Any] = [space.join(each.words) for each in sentences(lang, "dev", N_LABELLED)]
    else:
        texts = [given_doc(nlp, system, each) for each in sentences("en", "dev", N_LABELLED)]
    return [said_of(doc) for doc in nlp.pipe(texts, batch_size=batch_size)]


def said_of(doc: Doc) -> dict[str, Any]:
    """All labels, and numbers that no probability can change without changing one of them."""
    said: dict[str, Any] = {}
    for name in ("tag_", "pos_", "morph", "ent_iob_"):
        labels = [str(getattr(token, name)) or "-" for token in doc]
        if set(labels) != {"-"}:
            said[name] = " ".join(labels)
    if doc.has_annotation("SENT_START"):
        said["sentences"] = [span.start for span in doc.sents]
    for key, group in doc.spans.items():
        said[f"spans {key}"] = [f"{span.start}-{span.end} {span.label_}" for span in group]
        said[f"scores {key}"] = _digits(group.attrs.get("scores", ()))
    for extension in ("hoseq_marginals", "hoseq_decisions"):
        kept = doc.user_data.get(("._.", extension, None, None))
        for name, found in (kept or {}).items():
            said.update({f"{name} {key}": value for key, value in _of_probabilities(found).items()})
    return said


def _of_probabilities(found: dict[str, Any]) -> dict[str, Any]:
    """Of (n, L): a weighted sum for each token, in which no label weighs nothing. Of decisions (n,): as they are."""
    probabilities = np.asarray(found["probabilities"], np.float64)
    if probabilities.ndim == 1:
        order = [int(place) for place in found["order"]]
        return {"order": order, "probabilities": _digits(probabilities)}
    weights = np.cos(np.arange(1, probabilities.shape[1] + 1))
    return {"labels": len(found["labels"]), "probabilities": _digits(probabilities @ weights)}


def _digits(numbers: Any) -> list[float]:
    return [round(float(number), 7) for number in numbers]


def embedded(name: str) -> Language:
    """A pipeline that comes with the package, with all its probabilities."""
    path = embedded_path(name)
    components = load_config(path / "config.cfg")["components"]
    able = [pipe for pipe in components if "save_marginals" in components[pipe]]
    return spacy.load(path, config={f"components.{pipe}.save_marginals": True for pipe in able})


def decided(nlp: Language) -> dict[str, list[dict[str, Any]]]:
    """What a bidirectional tagger says by each strategy. It is left as it was."""
    pipe: Any = nlp.get_pipe("hoseq_bidirectional_tagger")
    before = pipe.cfg["strategy"], pipe.cfg["save_decisions"]
    said = {}
    for strategy in STRATEGIES:
        pipe.cfg["strategy"] = strategy
        pipe.cfg["save_decisions"] = strategy in ("easiest_first", "easiest_last")
        said[strategy] = labelled(nlp, SYSTEMS["bidirectional"], 7)
    pipe.cfg["strategy"], pipe.cfg["save_decisions"] = before
    return said
