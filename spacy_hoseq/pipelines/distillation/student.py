"""The trainings of a student, and what they make: one pipeline, and how well it agrees with its
teacher.

configs/STEP.cfg               recipes, which can be changed
training/STEP                  what was trained; a step that is done is not repeated
training/STEP-1-8, 1-4, 1-2    the last step, taught by a share of the texts
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config
from thinc.api import Config

from ...readers.account import whole
from ...readers.annotated import dev_examples
from ..recipes import recipe
from ..treebanks.parts import Contents
from ..treebanks.training import Lexicons, config_for, make_smaller
from .silver import Silver

SHARES = {"1-8": 8, "1-4": 4, "1-2": 2}  # of the texts: name and divisor
# scores of spaCy that are reported, beside those of groups of spans -> their names in tables
TITLES = {
    "sents_f": "sentences, F",
    "tag_acc": "tags",
    "pos_acc": "parts of speech",
    "morph_acc": "features",
    "lemma_acc": "lemmas",
    "ents_f": "names, F",
}
Scores = dict[str, Any]  # as spaCy has them


def configs_for(silver: Silver, lang: str, *, soft: bool = False) -> dict[str, Config]:
    """The configs of all trainings, by the names of the steps, in the order of the pipeline. soft: they
    learn from the probabilities of the teacher; sentences and lemmas from its labels all the same."""
    configs: dict[str, Config] = {}
    kinds = {*silver.kinds}
    if "sentences" in kinds:
        configs["sentences"] = _recipe("sentences", lang)
    if {"features", "lemmas"} & kinds:
        layers = {"tags": ["TAG"], "features": ["POS", "MORPH"], "lemmas": ["LEMMA"]}
        there = chain.from_iterable(layers.get(kind, []) for kind in silver.kinds)
        contents = Contents(silver.words["train"], [*there], False)
        parts = {"train": contents, "dev": contents}
        configs["words"] = config_for("treebank", lang, parts, Lexicons())
    if "tags" in kinds and "features" not in kinds:
        configs["tags"] = _recipe("tagger", lang)
    for key in silver.keys:
        config = _recipe("entities", lang, f"hoseq_{key}")
        component = config["components"][f"hoseq_{key}"]
        component.update(factory="hoseq_chunker", spans_key=key, annotate_ents=False)
        component["scorer"] = {"@scorers": "spacy_hoseq.chunk_scorer.v1"}
        config["training"]["score_weights"] = {f"spans_{key}_f": 1.0}
        configs[key] = config
    if "names" in kinds:
        configs["names"] = _recipe("entities", lang, "hoseq_entities")
    for config in configs.values() if soft else ():
        for name, component in config["components"].items():
            if name not in ("hoseq_sentences", "hoseq_lemmatizer"):
                component["objective"] = "distillation"
    return configs


def write_configs(work: Path, configs: Mapping[str, Config]) -> None:
    """Write the configs that are not there. One that the user has changed stays, if it is for the same
    pipeline and kind of labels."""
    for name, config in configs.items():
        path = work / "configs" / f"{name}.cfg"
        if path.exists():
            before = load_config(path, interpolate=False)
            if before["nlp"] == config["nlp"] and _is_soft(before) == _is_soft(config):
                continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as part:
            config.to_disk(part)


def write_shares(work: Path, name: str, silver: Silver) -> list[str]:
    """Write the configs for a learning curve: those of a step, with shares of the texts. RETURNS their
    names."""
    names = []
    for share, divisor in SHARES.items():
        config = load_config(work / "configs" / f"{name}.cfg", interpolate=False)
        n_texts = silver.texts["gold"] + max(1, silver.texts["train"] // divisor)
        config["corpora"]["train"]["limit"] = n_texts
        names.append(f"{name}-{share}")
        config.to_disk(work / "configs" / f"{names[-1]}.cfg")
    return names


def joined(work: Path, names: Iterable[str], teacher: Language, lang: str) -> Language:
    """The trained pipelines as one, with the tokenizer of the teacher if it is one of spaCy or of this
    package. names: of the steps."""
    block = teacher.config["nlp"]["tokenizer"]
    nlp = spacy.blank(lang)
    # others, such as that of Stanza, may be the whole teacher
    if block["@tokenizers"].startswith(("spacy.", "spacy_hoseq.")):
        nlp = spacy.blank(lang, config={"nlp": {"tokenizer": block}})
        tokenizer: Any = nlp.tokenizer
        tokenizer.from_bytes(teacher.tokenizer.to_bytes())  # type: ignore[union-attr]
    if "sentences" not in names:
        nlp.add_pipe("sentencizer")
    for name in names:
        trained = spacy.load(work / "training" / name / "model-best")
        if name == "words":
            make_smaller(trained, work / "corpus" / "dev.spacy")
        for component in trained.pipe_names:
            nlp.add_pipe(component, source=trained)
    return nlp


def scores_of(nlp: Language, predicted: Iterable[Doc], gold: Sequence[Doc]) -> Scores:
    """How often predictions of any pipeline agree with gold Docs, by the scorers of this one."""
    examples = [Example(doc, reference) for doc, reference in zip(predicted, gold, strict=True)]
    scores: Scores = {}
    for name, value in sorted(Scorer(nlp).score(examples).items()):
        is_main = name in TITLES or (name.startswith("spans_") and name.endswith("_f"))
        # the rules of punctuation were not learnt
        is_rule = name == "sents_f" and nlp.has_pipe("sentencizer")
        if value is not None and (is_main or name.endswith("_per_type")) and not is_rule:
            scores[name] = value
    return scores


def curve_of(work: Path, name: str, silver: Silver) -> list[tuple[int, float]]:
    """Words by the teacher, and the score of training with these: of a step, and of its shares."""
    points = []
    for share, divisor in {**{f"{name}-{key}": n for key, n in SHARES.items()}, name: 1}.items():
        nlp = spacy.load(work / "training" / share / "model-best")
        scores = nlp.evaluate(dev_examples(nlp, work / "corpus" / "test.spacy"))
        main = max(nlp.config["training"]["score_weights"].items(), key=_weight)[0]
        points.append((silver.words["train"] // divisor, float(scores[main])))
    return points


def speed_of(nlp: Language, texts: Sequence[str]) -> float:
    """Words a second from raw text, in one process."""
    started = time.perf_counter()
    n_words = sum(map(len, nlp.pipe(texts)))
    return n_words / (time.perf_counter() - started)


def _is_soft(config: Config) -> bool:
    return "distillation" in [each["objective"] for each in config["components"].values()]


def _weight(item: tuple[str, float | None]) -> float:
    return item[1] or 0.0


def _recipe(name: str, lang: str, component: str = "hoseq_chunker") -> Config:
    """A recipe. component: its name, if it is a chunker."""
    text = recipe(name, lang).replace("hoseq_chunker", component)
    return Config().from_str(text, interpolate=False)
