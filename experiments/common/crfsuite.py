"""Train and measure CRFsuite with the templates of a config, to compare with. Writes what side_by_side.py reads.

    python experiments/common/crfsuite.py CONFIG TRAIN.spacy TEST.spacy FOLDER [--algorithm ap]

Features are the keys that this package computes of the same templates, so both systems see the same. Needs
python-crfsuite (`pip install spacy-hoseq[bench]`); without it nothing is written.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.tokens import Doc, DocBin
from spacy.util import load_config, registry
from spacy.vocab import Vocab
from wasabi import msg

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.known_tags import KNOWN_TAGS_TABLE, known_tags
from spacy_hoseq.features.templates import parse_templates

PASSES = 5
Sentences = list[tuple[Doc, list[str]]]  # words, tags


def main(config: Path, train: Path, test: Path, output: Path, algorithm: str = "ap") -> None:
    try:
        import pycrfsuite
    except ImportError:
        msg.warn("python-crfsuite is not installed: no comparison with it")
        return
    settings = load_config(config)
    emissions = settings["components"]["hoseq_tagger"]["model"]["emissions"]
    extractor = FeatureExtractor(
        parse_templates(registry.resolve({"templates": emissions["templates"]})["templates"])
    )
    vocab = vocab_of(train, settings["initialize"].get("lookups"))
    training, testing = read(train, vocab), read(test, vocab)
    start = time.perf_counter()
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for features, (_, tags) in zip(features_of(extractor, training), training, strict=True):
        trainer.append(features, tags)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.crfsuite"
        trainer.train(str(file))
        seconds = time.perf_counter() - start
        model_bytes = file.stat().st_size
        tagger = pycrfsuite.Tagger()
        tagger.open(str(file))
        times = []
        for _ in range(PASSES):
            start = time.perf_counter()
            guessed = [tagger.tag(features) for features in features_of(extractor, testing)]
            times.append(time.perf_counter() - start)
    known = {token.text for doc, _ in training for token in doc}
    right = [[guess == tag for guess, tag in zip(*pair, strict=True)]
             for pair in zip(guessed, (tags for _, tags in testing), strict=True)]  # fmt: skip
    every = [ok for sentence in right for ok in sentence]
    words = [token.text for doc, _ in testing for token in doc]
    unknown = [ok for ok, word in zip(every, words, strict=True) if word not in known]
    shares = {"accuracy": every, "unknown words": unknown}
    layer: dict[str, Any] = {
        "attribute": "tag",
        "scores": {
            name: {"value": sum(of) / max(1, len(of)), "n": len(of)} for name, of in shares.items()
        },
        "right": "".join("01"[ok] for ok in every),
        "counts": [[sum(sentence), len(sentence), len(sentence)] for sentence in right],
    }
    result = {
        "model": "crfsuite",
        "layers": [layer],
        "tokens_per_second": len(every) / statistics.median(times),
        "training_seconds": seconds,
        "bytes": model_bytes,
    }
    output.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output / "report.json", result)
    msg.good(f"CRFsuite: {layer['scores']['accuracy']['value']:.2%} of {len(every):,} tokens")


def vocab_of(train: Path, tables: Any) -> Vocab:
    """With the tables of the config, and the tags that words have in training, as a component counts them."""
    vocab = spacy.blank("xx").vocab
    if tables is not None:
        vocab.lookups = registry.resolve({"tables": tables})["tables"]
    vocab.lookups.set_table(
        KNOWN_TAGS_TABLE,
        known_tags(train, min_count=5, min_share=0.02).get_table(KNOWN_TAGS_TABLE),
    )
    return vocab


def read(path: Path, vocab: Vocab) -> Sentences:
    """Sentence by sentence."""
    docs = DocBin().from_disk(path).get_docs(vocab)
    sentences = [
        sentence
        for doc in docs
        for sentence in (doc.sents if doc.has_annotation("SENT_START") else [doc[:]])
    ]
    return [(Doc(s.doc.vocab, words=[t.text for t in s]), [t.tag_ for t in s]) for s in sentences]


def features_of(extractor: FeatureExtractor, sentences: Sentences) -> list[list[list[str]]]:
    """Of each token: the keys of the templates that fire."""
    keys = (extractor.keys([doc]).T.tolist() for doc, _ in sentences)
    return [[[f"{key:x}" for key in token if key] for token in tokens] for tokens in keys]


if __name__ == "__main__":
    typer.run(main)
