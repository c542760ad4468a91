"""The steps from a treebank to a pipeline. Each writes its result at its end, and is left out if
that is there.

corpus/train.spacy, dev.spacy, test.spacy      the parts
corpus/multiword.json                          multi-word tokens of the training part
clusters.tsv                                   of raw text, if there is any
configs/words.cfg, sentences.cfg, treebank.cfg recipes, which can be changed
training/words                                 words and sentences, for the tokenizer
training/sentences                             if spaCy's rules cut words as well as that
training/treebank                              all else
pipeline                                       these together, compacted and calibrated
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import spacy
import srsly
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config
from spacy.vocab import Vocab
from thinc.api import Config

from ...inspection.calibration import calibrate
from ...readers.annotated import dev_examples, read_docs
from ...segmentation import CharacterTokenizer
from ..compaction.pipeline import compact_pipeline, save_compact
from ..recipes import recipe
from .multiword import add_words
from .parts import Contents, layers_of

MORPHOLOGIZER = "hoseq_morphologizer"
LEMMATIZER = "hoseq_lemmatizer"
SENTENCES = "hoseq_sentences"
STEPS = ("words", "sentences", "treebank")
TOKENIZER = "spacy_hoseq.CharacterTokenizer.v1"
WORDS = 1_500_000  # of all epochs together
EPOCHS = (6, 15)  # at least, at most
MEASURED_WORDS = 6_000  # of the development part, by which a model is compacted and calibrated
SCORES = {"TAG": "tag_acc", "POS": "pos_acc", "MORPH": "morph_acc", "LEMMA": "lemma_acc"}
TOLERANCE = 0.001  # of each accuracy, for a smaller model


class Lexicons(NamedTuple):
    """Files of words that are given. clusters: words with their clusters. forms: with tags. lemmas: with
    lemmas."""

    clusters: Path | None = None
    forms: Path | None = None
    lemmas: Path | None = None


def config_for(name: str, lang: str, contents: dict[str, Contents], lexicons: Lexicons) -> Config:
    """Config of a step, with the components for which the treebank has annotation."""
    config = Config().from_str(recipe(name, lang), interpolate=False)
    if name != "treebank":
        return config
    layers = {*contents["train"].layers} & {*contents["dev"].layers}
    components = config["components"]
    epochs = WORDS // max(1, contents["train"].words)
    config["training"]["max_epochs"] = min(max(epochs, EPOCHS[0]), EPOCHS[1])
    if "LEMMA" not in layers:
        _remove(config, LEMMATIZER, ["lemma_acc"])
    if not {"POS", "MORPH"} & layers:
        _remove(config, MORPHOLOGIZER, ["pos_acc", "morph_acc", "tag_acc"])
    paths = {kind: path and str(path.resolve()) for kind, path in lexicons._asdict().items()}
    known = {"path": paths["clusters"], "lexicon": paths["forms"]}
    if any(known.values()):
        config["initialize"]["lookups"] = {"@misc": "spacy_hoseq.word_classes.v1", **known}
        n_classes = sum(path is not None for path in known.values())
        components[MORPHOLOGIZER]["model"]["emissions"]["templates"]["classes"] = n_classes
    if paths["lemmas"] and LEMMATIZER in components:
        config["initialize"]["components"][LEMMATIZER] = {
            "lexicon": {"@misc": "spacy_hoseq.lemma_lexicon.v1", "path": paths["lemmas"]}
        }
    return config


def train_recipe(work: Path, name: str) -> None:
    """Train by the config of this name, unless that is done."""
    folder = work / "training" / name
    done = folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        paths = {
            f"paths.{part}": str(work / "corpus" / f"{part}.spacy") for part in ("train", "dev")
        }
        config = load_config(work / "configs" / f"{name}.cfg", overrides=paths)
        train(init_nlp(config), folder, stdout=sys.stdout, stderr=sys.stdout)
        done.touch()


def rules_suffice(work: Path, lang: str) -> bool:
    """True if spaCy's rules for the language cut the texts of the development part into words at
    least as well as the trained tokenizer does. They do not if they need a package that is not
    there, as those of Japanese, Korean, Thai and Vietnamese."""
    try:
        nlp = spacy.blank(lang)
    except ImportError:
        return False
    docs = list(read_docs([work / "corpus" / "dev.spacy"], nlp.vocab))
    by_rules = token_f(nlp, docs)
    with_tokenizer(nlp, work)
    return by_rules >= token_f(nlp, docs)


def token_f(nlp: Language, docs: Sequence[Doc]) -> float:
    """F of the words that the pipeline's tokenizer finds."""
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    return float(Scorer.score_tokenization(examples)["token_f"])


def with_tokenizer(nlp: Language, work: Path) -> None:
    """Cut words by the tokenizer that was trained."""
    tokenizer = CharacterTokenizer(nlp.vocab)
    tokenizer.use(spacy.load(work / "training" / "words" / "model-best"))
    nlp.tokenizer = tokenizer
    nlp.config["nlp"]["tokenizer"] = {"@tokenizers": TOKENIZER}


def join(work: Path) -> Language:
    """The trained pipelines as one: words and sentences, then all else; smaller, and with
    probabilities that fit."""
    nlp = spacy.load(work / "training" / "treebank" / "model-best")
    examples = some_of(dev_examples(nlp, work / "corpus" / "dev.spacy"))
    if MORPHOLOGIZER in nlp.pipe_names:  # the others are small: they learn from few mistakes
        compact_pipeline(nlp, examples, TOLERANCE, components=[MORPHOLOGIZER])
    calibrate(nlp, examples)
    docs = read_docs([work / "corpus" / "train.spacy"], Vocab())
    forms = Counter(token.lower_ for doc in docs for token in doc)
    add_words(nlp.vocab, srsly.read_json(work / "corpus" / "multiword.json"), forms)
    if (work / "training" / "sentences").exists():
        sentences = spacy.load(work / "training" / "sentences" / "model-best")
        nlp.add_pipe(SENTENCES, source=sentences, first=True)
    else:
        with_tokenizer(nlp, work)
        nlp.add_pipe("sentencizer")  # of Docs that are made from words, which no tokenizer has cut
    return nlp


def measure(nlp: Language, path: Path) -> dict[str, Any]:
    """Scores on a .spacy file: "gold" with its words and sentences, "raw" from its text. None of what
    it does not have."""
    docs = list(read_docs([path], nlp.vocab))
    raw = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    scores = {"gold": nlp.evaluate(dev_examples(nlp, path)), "raw": nlp.evaluate(raw)}
    if SENTENCES not in nlp.pipe_names:  # those of the tokenizer
        scores["raw"] = {**scores["raw"], **Scorer.score_spans(raw, "sents")}
    layers = layers_of(docs)
    absent = {score: None for layer, score in SCORES.items() if layer not in layers}
    told = {words: {**of_words, **absent} for words, of_words in scores.items()}
    return {**told, "words": sum(map(len, docs))}


def save(nlp: Language, meta: dict[str, Any], output: Path, *, overwrite: bool) -> None:
    """Write the pipeline with its meta. RAISES ValueError [HS113]."""
    nlp.meta.update(meta)
    segmenter = getattr(nlp.tokenizer, "segmenter", None)
    if isinstance(segmenter, Language):  # that of spaCy's Chinese tokenizer is a name
        segmenter.meta["spacy_version"] = meta["spacy_version"]
    save_compact(nlp, output, overwrite=overwrite)


def some_of(examples: list[Example]) -> list[Example]:
    """Examples with about MEASURED_WORDS words in all, spread over the part."""
    n_words = sum(len(eg.reference) for eg in examples)
    return examples[:: max(1, n_words // MEASURED_WORDS)]


def _remove(config: Config, component: str, scores: list[str]) -> None:
    """Take a component and its scores out of a config."""
    del config["components"][component]
    config["nlp"]["pipeline"].remove(component)
    for score in scores:
        config["training"]["score_weights"].pop(score, None)
