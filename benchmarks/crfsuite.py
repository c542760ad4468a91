"""CRFsuite with the templates of a recipe: the keys of features that this package computes, so both see the same."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import spacy
from spacy.lookups import Lookups
from spacy.tokens import Doc
from spacy.training import biluo_tags_to_spans, iob_to_biluo
from spacy.util import registry
from thinc.api import Config

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.known_tags import KNOWN_TAGS_TABLE, known_tags
from spacy_hoseq.features.templates import parse_templates

from .corpora import docs_of


class Crfsuite:
    """A tagger of words, or of spans as B-, I-, O. algorithm: "lbfgs" or "ap", with its default settings."""

    def __init__(self, algorithm: str, place: str) -> None:
        self.algorithm, self.place = algorithm, place

    def trained(self, config: Config, corpus: Path, output: Path) -> tuple["Crfsuite", int]:
        """This tagger, trained, and the bytes of its model. config: of a recipe with one component."""
        import pycrfsuite

        output.mkdir(parents=True, exist_ok=True)
        known_tags(corpus / "train.spacy", min_count=5, min_share=0.02).to_disk(output)
        self._prepare(config, output)
        trainer = pycrfsuite.Trainer(self.algorithm, verbose=False)
        for doc in docs_of(corpus / "train.spacy", self.vocab):
            trainer.append(self.features(doc), self.labels(doc))
        trainer.train(str(output / "model.crfsuite"))
        return self.loaded(config, output), (output / "model.crfsuite").stat().st_size

    def loaded(self, config: Config, output: Path) -> "Crfsuite":
        """This tagger, with a model that was trained."""
        import pycrfsuite

        self._prepare(config, output)
        self.tagger: Any = pycrfsuite.Tagger()
        self.tagger.open(str(output / "model.crfsuite"))
        return self

    def _prepare(self, config: Config, output: Path) -> None:
        """The templates of a recipe, and the tables that they read."""
        config = config.interpolate()
        (component,) = config["components"].values()
        templates = component["model"]["emissions"]["templates"]
        self.extractor = FeatureExtractor(
            parse_templates(registry.resolve({"of": templates})["of"])
        )
        tables = config["initialize"].get("lookups")
        self.vocab = spacy.blank(config["nlp"]["lang"]).vocab
        self.vocab.lookups = Lookups() if tables is None else registry.resolve({"of": tables})["of"]
        self.vocab.lookups.set_table(
            KNOWN_TAGS_TABLE, Lookups().from_disk(output).get_table(KNOWN_TAGS_TABLE)
        )

    def pipe(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        """Docs with what it predicts."""
        for doc in docs:
            labels = self.tagger.tag(self.features(doc))
            if self.place == "tag":
                for token, label in zip(doc, labels, strict=True):
                    token.tag_ = label
            else:
                doc.ents = biluo_tags_to_spans(doc, iob_to_biluo(labels))
            yield doc

    def features(self, doc: Doc) -> list[list[str]]:
        """Keys of the features of each word."""
        return [
            [f"{key:x}" for key in token if key] for token in self.extractor.keys([doc]).T.tolist()
        ]

    def labels(self, doc: Doc) -> list[str]:
        """What it learns: tags, or the beginnings and insides of spans."""
        if self.place == "tag":
            return [token.tag_ for token in doc]
        labels = ["O"] * len(doc)
        for span in doc.ents if self.place == "ents" else doc.spans["chunks"]:
            labels[span.start : span.end] = [
                f"B-{span.label_}",
                *[f"I-{span.label_}"] * (len(span) - 1),
            ]
        return labels
