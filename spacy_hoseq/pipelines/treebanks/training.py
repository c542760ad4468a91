"""The steps from a treebank to a pipeline. Each writes its result when it is done, and is skipped if
the result is there.

corpus/train.spacy, dev.spacy, test.spacy      the parts
corpus/multiword.json                          multi-word tokens of the training part
clusters.tsv                                   of raw text, if there is any
configs/words.cfg, sentences.cfg, treebank.cfg recipes, which can be changed
training/words                                 words and sentences, for the tokenizer
training/sentences                             if spaCy's rules cut words as well as that
training/treebank                              everything else
pipeline                                       these together, compacted and calibrated
"""

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import chain
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
from ...readers.account import Account
from ...readers.annotated import dev_examples, read_docs
from ...segmentation import CharacterTokenizer
from ..compaction.pipeline import compact_pipeline, save_compact
from ..recipes import recipe
from .multiword import add_words
from .parts import LAYERS, Contents, digest_of, layers_of

STEPS = ("words", "sentences", "treebank")


class Lexicons(NamedTuple):
    """Files about words that the user gives: words with their clusters, forms with their tags, forms
    with their lemmas."""

    clusters: Path | None = None
    forms: Path | None = None
    lemmas: Path | None = None


def config_for(name: str, lang: str, contents: dict[str, Contents], lexicons: Lexicons) -> Config:
    """Config of a step. That of "treebank" has the components for which there is annotation."""
    config = Config().from_str(recipe(name, lang), interpolate=False)
    if name != "treebank":
        return config
    components = config["components"]
    # the larger the treebank, the fewer epochs: 1.5 million words in all
    epochs = 1_500_000 // max(1, contents["train"].words)
    config["training"]["max_epochs"] = min(max(epochs, 6), 15)
    layers = {*contents["train"].layers} & {*contents["dev"].layers}
    if "LEMMA" not in layers:
        _remove(config, "hoseq_lemmatizer", ["lemma_acc"])
    if not {"POS", "MORPH"} & layers:
        _remove(config, "hoseq_morphologizer", ["pos_acc", "morph_acc", "tag_acc"])
    # paths are absolute, for `spacy train` may run elsewhere
    clusters, forms, lemmas = (path and str(path.resolve()) for path in lexicons)
    if clusters or forms:
        table = {"@misc": "spacy_hoseq.word_classes.v1", "path": clusters, "lexicon": forms}
        config["initialize"]["lookups"] = table
        templates = components["hoseq_morphologizer"]["model"]["emissions"]["templates"]
        templates["classes"] = bool(clusters) + bool(forms)
    if lemmas and "hoseq_lemmatizer" in components:
        lexicon = {"@misc": "spacy_hoseq.lemma_lexicon.v1", "path": lemmas}
        config["initialize"]["components"]["hoseq_lemmatizer"] = {"lexicon": lexicon}
    return config


def train_recipe(work: Path, name: str) -> None:
    """Train with the config of a step, unless that is done with this config and these parts."""
    folder = work / "training" / name
    corpus = work / "corpus"
    files = [work / "configs" / f"{name}.cfg", corpus / "train.spacy", corpus / "dev.spacy"]
    digest = digest_of(files, Account())
    done = folder / "done"
    # the file is written last: a training that was interrupted begins anew
    if done.exists() and done.read_text(encoding="utf8") == digest:
        return
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        "paths.train": str(corpus / "train.spacy"),
        "paths.dev": str(corpus / "dev.spacy"),
    }
    config = load_config(work / "configs" / f"{name}.cfg", overrides=paths)
    train(init_nlp(config), folder, stdout=sys.stdout, stderr=sys.stdout)
    done.write_text(digest, encoding="utf8")


def rules_suffice(work: Path, lang: str) -> bool:
    """True if spaCy's rules for the language find the words of the development part at least as well
    as the trained tokenizer does."""
    try:
        nlp = spacy.blank(lang)
    except ImportError:
        # Japanese, Korean, Thai and Vietnamese need packages that may be missing
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
    """Replace the tokenizer of a pipeline by the trained one."""
    tokenizer = CharacterTokenizer(nlp.vocab)
    tokenizer.use(spacy.load(work / "training" / "words" / "model-best"))
    # spaCy saves the tokenizer's factory from the config
    nlp.tokenizer = tokenizer
    nlp.config["nlp"]["tokenizer"] = {"@tokenizers": "spacy_hoseq.CharacterTokenizer.v1"}


def join(work: Path) -> Language:
    """The trained pipelines as one, compacted and calibrated: words and sentences, then everything
    else."""
    nlp = spacy.load(work / "training" / "treebank" / "model-best")
    make_smaller(nlp, work / "corpus" / "dev.spacy")
    docs = read_docs([work / "corpus" / "train.spacy"], Vocab())
    forms = Counter(token.lower_ for token in chain.from_iterable(docs))
    add_words(nlp.vocab, srsly.read_json(work / "corpus" / "multiword.json"), forms)
    if (work / "training" / "sentences").exists():
        sentences = spacy.load(work / "training" / "sentences" / "model-best")
        nlp.add_pipe("hoseq_sentences", source=sentences, first=True)
    else:
        with_tokenizer(nlp, work)
        # the tokenizer finds sentences; this one is for Docs that are made from words
        nlp.add_pipe("sentencizer")
    return nlp


def measure(nlp: Language, path: Path) -> dict[str, Any]:
    """Scores on a .spacy file: "gold" with its words and sentences, "raw" from its text. The scores of
    layers that the file does not have are None."""
    docs = list(read_docs([path], nlp.vocab))
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    raw = nlp.evaluate(examples)
    if "hoseq_sentences" not in nlp.pipe_names:
        # no component has scored the sentences of the tokenizer
        raw.update(Scorer.score_spans(examples, "sents"))
    gold = nlp.evaluate(dev_examples(nlp, path))
    for layer in LAYERS.keys() - layers_of(docs):
        gold[f"{layer.lower()}_acc"] = None
        raw[f"{layer.lower()}_acc"] = None
    return {"gold": gold, "raw": raw, "words": sum(map(len, docs))}


def save(nlp: Language, meta: dict[str, Any], output: Path, *, overwrite: bool) -> None:
    """Write the pipeline with its meta. RAISES ValueError [HS113]."""
    nlp.meta.update(meta)
    segmenter = getattr(nlp.tokenizer, "segmenter", None)
    # that of spaCy's Chinese tokenizer is a name
    if isinstance(segmenter, Language):
        segmenter.meta["spacy_version"] = meta["spacy_version"]
    save_compact(nlp, output, overwrite=overwrite)


def make_smaller(nlp: Language, dev: Path) -> None:
    """Compact and calibrate a pipeline of the recipe "treebank"."""
    examples = dev_examples(nlp, dev)
    # about 6,000 words in all, spread over the part, are enough
    n_words = sum(len(eg.reference) for eg in examples)
    examples = examples[:: max(1, n_words // 6_000)]
    # the other components are small anyway: a perceptron has weights only for its mistakes
    if "hoseq_morphologizer" in nlp.pipe_names:
        compact_pipeline(nlp, examples, tolerance=0.001, components=["hoseq_morphologizer"])
    calibrate(nlp, examples)


def _remove(config: Config, component: str, scores: list[str]) -> None:
    """Take a component and its scores out of a config."""
    del config["components"][component]
    config["nlp"]["pipeline"].remove(component)
    for score in scores:
        config["training"]["score_weights"].pop(score, None)
