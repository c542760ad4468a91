"""The taggers that are compared. Each trains on the same files and tags the same text; `tag` starts from words.

Run in a process of its own by `benchmarks.tagging`: python -m benchmarks.systems NAME CORPUS FOLDER -> one JSON line
"""

import json
import resource
import statistics
import sys
import time
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import spacy
from spacy.cli.train import train as spacy_train
from spacy.tokens import Doc, DocBin

from spacy_hoseq.features.template_sets import english_pos_templates
from spacy_hoseq.features.templates import parse_templates

Sentences = List[Tuple[List[str], List[str]]]  # words, tags
PASSES = 5


class Hoseq:
    """`hoseq_tagger` through `spacy train`, tagging through `nlp.pipe` over ready Docs."""

    def __init__(self, config: str) -> None:
        self.config = Path("configs") / config

    def train(self, corpus: Path, folder: Path) -> None:
        paths = {f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")}
        spacy_train(self.config, folder, overrides={**paths, "training.logger.progress_bar": None})

    def load(self, folder: Path) -> None:
        self.nlp = spacy.load(folder / "model-best")

    def prepare(self, words: List[List[str]]) -> Any:
        return [Doc(self.nlp.vocab, words=sentence) for sentence in words]

    def tag(self, prepared: Any) -> List[List[str]]:
        docs = list(self.nlp.pipe(prepared))
        self.tagged = docs
        return []

    def read(self, tags: List[List[str]]) -> List[List[str]]:
        return [[token.tag_ for token in doc] for doc in self.tagged]

    def version(self) -> str:
        return version("spacy-hoseq")


class Crfsuite:
    """python-crfsuite with the templates of `spacy_hoseq.english_pos_templates.v1`; features of a word are cached."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        templates = parse_templates(english_pos_templates())
        self.offsets = sorted({t.parts[0].offset for t in templates if len(t.parts) == 1})
        self.conjunctions = [t for t in templates if len(t.parts) > 1]

    def train(self, corpus: Path, folder: Path) -> None:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(algorithm=self.algorithm, verbose=False)
        for words, tags in read_sentences(corpus / "train.spacy"):
            trainer.append(self.features(words), tags)
        folder.mkdir(parents=True, exist_ok=True)
        trainer.train(str(folder / "model.crfsuite"))

    def load(self, folder: Path) -> None:
        import pycrfsuite

        self.tagger = pycrfsuite.Tagger()
        self.tagger.open(str(folder / "model.crfsuite"))

    def prepare(self, words: List[List[str]]) -> Any:
        return words

    def tag(self, prepared: Any) -> List[List[str]]:
        return [self.tagger.tag(self.features(sentence)) for sentence in prepared]

    def read(self, tags: List[List[str]]) -> List[List[str]]:
        return tags

    def features(self, words: List[str]) -> List[List[str]]:
        result = []
        lower = [word.lower() for word in words]
        for i in range(len(words)):
            active: List[str] = []
            for offset in self.offsets:
                active += of_word(word_at(words, i + offset), offset)
            for number, template in enumerate(self.conjunctions):  # of lower-case words
                active.append(f"{number}={'|'.join([word_at(lower, i + part.offset) for part in template.parts])}")
            result.append(active)
        return result

    def version(self) -> str:
        return version("python-crfsuite")


def word_at(words: List[str], at: int) -> str:
    return words[at] if 0 <= at < len(words) else ("<s>" if at < 0 else "</s>")


@cache
def of_word(word: str, offset: int) -> List[str]:
    """Features of one word at one offset, for all templates of one part."""
    parts = [t.parts[0] for t in parse_templates(english_pos_templates()) if len(t.parts) == 1]
    values = {**attributes(word), "bias": "1"}
    return [f"{p}={values[p.attribute]}" for p in parts if p.offset == offset and p.attribute in values]


@cache
def attributes(word: str) -> Dict[str, str]:
    lexeme = _VOCAB[word]
    values = {"orth": word, "lower": lexeme.lower_, "shape": lexeme.shape_, "length": str(len(word))}
    shape = lexeme.shape_
    values["short_shape"] = "".join(c for i, c in enumerate(shape) if i == 0 or c != shape[i - 1])
    for n in range(1, 8):
        if len(word) >= n:
            values[f"prefix{n}"], values[f"suffix{n}"] = word[:n], word[-n:]
    tests: Dict[str, Callable[[str], bool]] = {"has_digit": str.isdigit, "has_upper": str.isupper}
    values.update({name: "1" for name, test in tests.items() if any(map(test, word))})
    if "-" in word:
        values["has_hyphen"] = "1"
    return values


_VOCAB = spacy.blank("en").vocab

SYSTEMS: Dict[str, Callable[[], Any]] = {
    "hoseq first order": lambda: Hoseq("tagger.cfg"),
    "hoseq higher order": lambda: Hoseq("tagger_ho.cfg"),
    "crfsuite perceptron": lambda: Crfsuite("ap"),
    "crfsuite l-bfgs": lambda: Crfsuite("lbfgs"),
}


def read_sentences(path: Path) -> Sentences:
    docs = DocBin().from_disk(path).get_docs(_VOCAB)
    return [([t.text for t in doc], [t.tag_ for t in doc]) for doc in docs]


def run(name: str, corpus: Path, folder: Path) -> Dict[str, Any]:
    """Train, load, tag: everything that is measured of one system."""
    system = SYSTEMS[name]()
    start = time.perf_counter()
    system.train(corpus, folder)
    training = time.perf_counter() - start
    start = time.perf_counter()
    system.load(folder)
    loading = time.perf_counter() - start
    test = read_sentences(corpus / "test.spacy")
    known = {word for words, _ in read_sentences(corpus / "train.spacy") for word in words}
    seconds = []
    for _ in range(PASSES):
        prepared = system.prepare([words for words, _ in test])
        start = time.perf_counter()
        tags = system.tag(prepared)
        seconds.append(time.perf_counter() - start)
    guessed = [tag for sentence in system.read(tags) for tag in sentence]
    gold = [(word, tag) for words, tags in test for word, tag in zip(words, tags, strict=True)]
    right = [guess == tag for guess, (_, tag) in zip(guessed, gold, strict=True)]
    unknown = [ok for ok, (word, _) in zip(right, gold, strict=True) if word not in known]
    model = folder / "model-best" if (folder / "model-best").exists() else folder
    return {
        "system": name,
        "version": system.version(),
        "accuracy": sum(right) / len(right),
        "unknown_accuracy": sum(unknown) / max(1, len(unknown)),
        "training_seconds": training,
        "tokens_per_second": len(gold) / statistics.median(seconds),
        "load_seconds": loading,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "model_bytes": sum(p.stat().st_size for p in model.rglob("*") if p.is_file()),
    }


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        measured = run(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    print(json.dumps(measured))
