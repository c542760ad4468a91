"""One version of the package, asked by `benchmarks.versions`: a line of JSON in, a line of JSON out.

Run by path and by the interpreter of that version, so it imports nothing of the benchmarks: only spaCy, and the
components by their registered names.
"""

import gc
import json
import resource
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc, DocBin

TURN_SECONDS = 0.5


class Worker:
    nlp: Language
    texts: list[Doc]

    def train(self, config: str, overrides: dict[str, Any], output: str) -> dict[str, Any]:
        start = time.perf_counter()
        with redirect_stdout(sys.stderr):
            train(Path(config), Path(output), overrides=overrides)
        return {"seconds": time.perf_counter() - start}

    def load(self, model: str, corpus: str, labels: str) -> dict[str, Any]:
        """Load a pipeline, measure it, and write what it says of the corpus to the file `labels`."""
        start = time.perf_counter()
        self.nlp = spacy.load(model)
        seconds = time.perf_counter() - start
        gold = list(DocBin().from_disk(corpus).get_docs(self.nlp.vocab))
        self.texts = [self._bare(doc) for doc in gold]
        docs = self._labelled()
        right = sum(
            a.tag == b.tag
            for doc, other in zip(docs, gold, strict=True)
            for a, b in zip(doc, other, strict=True)
        )
        np.savez(labels, **self._annotation(docs))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        size = sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file())
        return {
            "load": seconds,
            "accuracy": right / sum(map(len, docs)),
            "memory": peak,
            "size": size,
        }

    def label(self) -> dict[str, Any]:
        """Seconds of one pass over the corpus, of as many as last for half a second."""
        gc.collect()
        passes, start = 0, time.perf_counter()
        while time.perf_counter() - start < TURN_SECONDS:
            self._labelled()
            passes += 1
        return {"seconds": (time.perf_counter() - start) / passes}

    def _bare(self, doc: Doc) -> Doc:
        """Words and sentence ends alone."""
        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        return Doc(
            doc.vocab, words, spaces, sent_starts=[bool(token.is_sent_start) for token in doc]
        )

    def _labelled(self) -> list[Doc]:
        docs = [doc.copy() for doc in self.texts]
        for _, pipe in self.nlp.pipeline:
            docs = list(pipe.pipe(docs, batch_size=1000))
        return docs

    def _annotation(self, docs: list[Doc]) -> dict[str, Any]:
        spans = [
            (doc, span) for doc in docs for key in sorted(doc.spans) for span in doc.spans[key]
        ]
        scores = [
            doc.spans[key].attrs.get("scores", ()) for doc in docs for key in sorted(doc.spans)
        ]
        marginals = [
            row["probabilities"].reshape(-1)
            for doc in docs
            if Doc.has_extension("hoseq_marginals")
            for _, row in sorted(
                (doc.user_data.get(("._.", "hoseq_marginals", None, None)) or {}).items()
            )
        ]
        return {
            "tags": np.array([token.tag_ for doc in docs for token in doc]),
            "spans": np.array([f"{span.start} {span.end} {span.label_}" for _, span in spans]),
            "scores": np.concatenate(
                [np.zeros(0, np.float32), *(np.asarray(s, np.float32) for s in scores)]
            ),
            "marginals": np.concatenate([np.zeros(0, np.float32), *marginals]),
        }


def main() -> None:
    worker = Worker()
    answers = sys.stdout
    sys.stdout = sys.stderr  # what spaCy prints is no answer
    for line in sys.stdin:
        asked = json.loads(line)
        answer = getattr(worker, asked.pop("do"))(**asked)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
