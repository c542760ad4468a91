"""CRFsuite with the templates of a recipe: the keys of features that this package computes, so both see the same."""

import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

import spacy
from spacy.lookups import Lookups
from spacy.tokens import Doc, DocBin, Span
from spacy.training import biluo_tags_to_spans, iob_to_biluo
from spacy.util import registry
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.known_tags import MIN_COUNT, MIN_SHARE, TABLE, known_tags
from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.recipes import recipe

from .sizes_corpora import Task

Sequence = Tuple[Doc, List[str]]  # a sentence, its labels


def crfsuite_scores(
    task: Task, corpus: Path, algorithm: str, iterations: Optional[int] = None, *, classes: bool = True
) -> Dict[str, Any]:
    """algorithm: "lbfgs" or "ap", with its default settings. iterations (int): at most, None = its default. classes:
    with the word classes that the package knows, if the recipe has them."""
    import pycrfsuite

    config = Config().from_str(recipe(task.recipe, task.lang))
    templates = config["components"][task.component]["model"]["emissions"]["templates"]
    parsed = parse_templates(registry.resolve({"templates": templates})["templates"])
    extractor = FeatureExtractor([each for each in parsed if classes or "word_class" not in str(each)])
    vocab = spacy.blank("xx").vocab
    vocab.lookups = tables_of(config, corpus / "train.spacy")
    params = {} if iterations is None else {"max_iterations": iterations}
    trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
    for doc, labels in sequences(task, corpus / "train.spacy", vocab):
        trainer.append(features_of(extractor, doc), labels)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.crfsuite"
        trainer.train(str(file))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(file))
        scores = {}
        for part in ("dev", "test"):
            pairs = [
                (doc, tagger.tag(features_of(extractor, doc)), gold)
                for doc, gold in sequences(task, corpus / f"{part}.spacy", vocab)
            ]
            scores[part] = f_score(pairs) if task.spans >= 0 else accuracy(pairs)
        tagger.close()
    return {**scores, "updates": 0}


def tables_of(config: Config, train: Path) -> Lookups:
    """What the templates read: the tables of the recipe, and known tags, as a component counts them."""
    tables = config["initialize"].get("lookups")
    lookups: Lookups = Lookups() if tables is None else registry.resolve({"tables": tables})["tables"]
    lookups.set_table(TABLE, known_tags(train, MIN_COUNT, MIN_SHARE).get_table(TABLE))
    return lookups


def sequences(task: Task, path: Path, vocab: Vocab) -> List[Sequence]:
    docs = DocBin().from_disk(path).get_docs(vocab)
    return [(sentence, labels_of(task, sentence)) for doc in docs for sentence in each_sentence(doc)]


def each_sentence(doc: Doc) -> List[Doc]:
    """With tags, and the spans of gold under the key "gold"."""
    gold = list(doc.spans["chunks"] if "chunks" in doc.spans else doc.ents)
    sentences = []
    for span in doc.sents:
        part = Doc(doc.vocab, words=[t.text for t in span], tags=[t.tag_ for t in span])
        spans = [s for s in gold if span.start <= s.start < span.end]
        part.spans["gold"] = [Span(part, s.start - span.start, s.end - span.start, s.label_) for s in spans]
        sentences.append(part)
    return sentences


def labels_of(task: Task, sentence: Doc) -> List[str]:
    if task.spans < 0:
        return [token.tag_ for token in sentence]
    labels = ["O"] * len(sentence)
    for span in sentence.spans["gold"]:
        labels[span.start : span.end] = [f"B-{span.label_}", *[f"I-{span.label_}"] * (len(span) - 1)]
    return labels


def features_of(extractor: FeatureExtractor, doc: Doc) -> List[List[str]]:
    return [[f"{key:x}" for key in token if key] for token in extractor.keys([doc]).T.tolist()]


def accuracy(pairs: List[Tuple[Doc, List[str], List[str]]]) -> float:
    right = [guess == gold for _, guesses, labels in pairs for guess, gold in zip(guesses, labels, strict=True)]
    return sum(right) / len(right)


def f_score(pairs: List[Tuple[Doc, List[str], List[str]]]) -> float:
    right = n_guesses = n_gold = 0
    for doc, guesses, labels in pairs:
        guessed, gold = spans_in(doc, guesses), spans_in(doc, labels)
        right, n_guesses, n_gold = right + len(guessed & gold), n_guesses + len(guessed), n_gold + len(gold)
    return 2 * right / max(1, n_guesses + n_gold)


def spans_in(doc: Doc, labels: List[str]) -> Set[Tuple[int, int, str]]:
    return {(s.start, s.end, s.label_) for s in biluo_tags_to_spans(doc, iob_to_biluo(labels))}
