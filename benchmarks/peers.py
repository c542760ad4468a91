"""Taggers of other packages. CRFsuite and Wapiti have the templates of the set `english_pos`, without known tags;
CRFsuite also those of the recipe `tagger`, with known tags and word classes."""

import json
import random
import subprocess
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import spacy
from spacy.tokens import Doc
from thinc.api import Config

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import parse_templates, templates_named
from spacy_hoseq.recipes import recipe

from .corpora import Data, read_sentences, vocabulary
from .history import History
from .sizes_crfsuite import features_of, tables_of
from .system import Caller, Labelled

ITERATIONS = (1, 2, 5, 10, 20, 50, 100)


class Templates:
    """The features of all words as strings, as python-crfsuite takes them. Those of one word are cached."""

    def __init__(self) -> None:
        templates = parse_templates(
            each for each in templates_named("english_pos") if "known_tags" not in each
        )
        single = [t.parts[0] for t in templates if len(t.parts) == 1]
        self.offsets = sorted({part.offset for part in single})
        self.conjunctions = [t for t in templates if len(t.parts) > 1]  # of lower-case words

        @cache
        def of_word(word: str, offset: int) -> List[str]:
            values = {**attributes(word), "bias": "1"}
            return [
                f"{p}={values[p.attribute]}"
                for p in single
                if p.offset == offset and p.attribute in values
            ]

        self._of_word = of_word

    def features(self, words: List[str]) -> List[List[str]]:
        result = []
        lower = [word.lower() for word in words]
        for i in range(len(words)):
            active: List[str] = []
            for offset in self.offsets:
                active += self._of_word(word_at(words, i + offset), offset)
            for number, template in enumerate(self.conjunctions):
                active.append(
                    f"{number}={'|'.join([word_at(lower, i + part.offset) for part in template.parts])}"
                )
            result.append(active)
        return result


class Crfsuite:
    """python-crfsuite from lists of words. Of models of several numbers of iterations, up to the 100 that are the
    perceptron's default, the best on the dev corpus is kept; training time is that of the longest."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.templates: Any = Templates()

    def train(self, data: Data, folder: Path) -> History:
        import pycrfsuite

        folder.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        training = read_sentences(data.tags / "train.spacy")
        reading = time.perf_counter() - start
        dev = read_sentences(data.tags / "dev.spacy")
        history: History = []
        for iterations in ITERATIONS:
            start = time.perf_counter()
            trainer = pycrfsuite.Trainer(
                self.algorithm, {"max_iterations": iterations}, verbose=False
            )
            for sentence in training:
                trainer.append(self.templates.features(sentence.words), sentence.tags)
            path = folder / f"{iterations}.crfsuite"
            trainer.train(str(path))
            seconds = reading + time.perf_counter() - start
            self._open(path)
            guessed = self.tag([sentence.words for sentence in dev])
            pairs = [
                p
                for tags, s in zip(guessed, dev, strict=True)
                for p in zip(tags, s.tags, strict=True)
            ]
            score = sum(guess == tag for guess, tag in pairs) / len(pairs)
            if score > max((other for _, other in history), default=-1.0):
                path.replace(self.model(folder))
            else:
                path.unlink()
            history.append((seconds, score))
        return history

    def model(self, folder: Path) -> Path:
        return folder / "model.crfsuite"

    def load(self, folder: Path) -> None:
        self._open(self.model(folder))

    def _open(self, path: Path) -> None:
        import pycrfsuite

        self.tagger = pycrfsuite.Tagger()
        self.tagger.open(str(path))

    def prepare(self, words: List[List[str]]) -> Any:
        return words

    def tag(self, prepared: Any) -> Any:
        return [self.tagger.tag(self.templates.features(sentence)) for sentence in prepared]

    def read(self, result: Any) -> Labelled:
        return Labelled(sum(map(len, result)), result)

    def reader(self, folder: Path) -> None:
        return None

    def caller(self, folder: Path) -> Caller:
        """With spaCy's tokenizer, as one would put them together."""
        self.load(folder)
        tokenizer, tagger, features = (
            spacy.blank("en").tokenizer,
            self.tagger,
            self.templates.features,
        )
        return lambda text: tagger.tag(features([token.text for token in tokenizer(text)]))

    def version(self) -> str:
        return version("python-crfsuite")


class RecipeFeatures:
    """Those of the recipe `tagger`, by their keys. train: where known tags are counted."""

    def __init__(self, train: Path) -> None:
        config = Config().from_str(recipe("tagger"))
        templates = config["components"]["hoseq_tagger"]["model"]["emissions"]["templates"]
        self.extractor = FeatureExtractor(
            parse_templates(spacy.registry.resolve({"set": templates})["set"])
        )
        self.vocab = spacy.blank("en").vocab
        self.vocab.lookups = tables_of(config, train)

    def features(self, words: List[str]) -> List[List[str]]:
        return features_of(self.extractor, Doc(self.vocab, words=words))


class CrfsuiteOfRecipe(Crfsuite):
    """CRFsuite with all that the recipe `tagger` sees."""

    def train(self, data: Data, folder: Path) -> History:
        folder.mkdir(parents=True, exist_ok=True)
        text = data.tags.resolve() / "train.spacy"
        self.text(folder).write_text(str(text), encoding="utf8")
        self.templates = RecipeFeatures(text)
        return super().train(data, folder)

    def text(self, folder: Path) -> Path:
        return folder / "text.txt"

    def load(self, folder: Path) -> None:
        self.templates = RecipeFeatures(Path(self.text(folder).read_text(encoding="utf8")))
        super().load(folder)


class Nltk:
    """NLTK's averaged perceptron: greedy, left to right, features of its own, five iterations (its default)."""

    def train(self, data: Data, folder: Path) -> History:
        from nltk.tag.perceptron import PerceptronTagger

        random.seed(0)
        tagger = PerceptronTagger(load=False)
        pairs = [
            list(zip(s.words, s.tags, strict=True))
            for s in read_sentences(data.tags / "train.spacy")
        ]
        tagger.train(pairs)
        folder.mkdir(parents=True, exist_ok=True)
        found = {
            "weights": tagger.model.weights,
            "tags": tagger.tagdict,
            "classes": sorted(tagger.classes),
        }
        self.model(folder).write_text(json.dumps(found), encoding="utf8")
        return []

    def model(self, folder: Path) -> Path:
        return folder / "model.json"

    def load(self, folder: Path) -> None:
        from nltk.tag.perceptron import PerceptronTagger

        self.tagger = PerceptronTagger(load=False)
        found = json.loads(self.model(folder).read_text(encoding="utf8"))
        self.tagger.model.weights, self.tagger.tagdict = found["weights"], found["tags"]
        self.tagger.classes = self.tagger.model.classes = set(found["classes"])

    def prepare(self, words: List[List[str]]) -> Any:
        return words

    def tag(self, prepared: Any) -> Any:
        return [self.tagger.tag(sentence) for sentence in prepared]

    def read(self, result: Any) -> Labelled:
        return Labelled(
            sum(map(len, result)), [[tag for _, tag in sentence] for sentence in result]
        )

    def reader(self, folder: Path) -> None:
        return None

    def caller(self, folder: Path) -> None:
        return None

    def version(self) -> str:
        return version("nltk")


class Wapiti:
    """The program `wapiti`, a CRF, with features instead of patterns: from lists of words, through files, with its own
    start and the loading of the model counted as tagging."""

    def __init__(self) -> None:
        self.templates = Templates()

    def train(self, data: Data, folder: Path) -> History:
        folder.mkdir(parents=True, exist_ok=True)
        sentences = read_sentences(data.tags / "train.spacy")
        lines = (line for s in sentences for line in (*self._lines(s.words, s.tags), ""))
        write_lines(folder / "train.txt", lines)
        run = [
            "wapiti",
            "train",
            "-a",
            "l-bfgs",
            str(folder / "train.txt"),
            str(self.model(folder)),
        ]
        subprocess.run(run, check=True, capture_output=True)
        (folder / "train.txt").unlink()
        return []

    def model(self, folder: Path) -> Path:
        return folder / "model.wapiti"

    def load(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self, words: List[List[str]]) -> Any:
        return words

    def tag(self, prepared: Any) -> Any:
        write_lines(
            self.folder / "in.txt",
            (line for words in prepared for line in (*self._lines(words), "")),
        )
        files = [str(self.folder / name) for name in ("in.txt", "out.txt")]
        run = ["wapiti", "label", "-l", "-m", str(self.model(self.folder)), *files]
        subprocess.run(run, check=True, capture_output=True)
        sentences = (self.folder / "out.txt").read_text(encoding="utf8").strip("\n").split("\n\n")
        return [sentence.split("\n") for sentence in sentences]

    def read(self, result: Any) -> Labelled:
        return Labelled(sum(map(len, result)), [[tag.strip() for tag in tags] for tags in result])

    def reader(self, folder: Path) -> None:
        return None

    def caller(self, folder: Path) -> None:
        return None

    def version(self) -> str:
        shown = subprocess.run(["wapiti", "--version"], capture_output=True, text=True)
        return (shown.stdout or shown.stderr).split("\n")[0].split(" ")[-1]

    def _lines(self, words: List[str], tags: Optional[List[str]] = None) -> Iterator[str]:
        """One a word: features, "b" for pairs of labels, and the tag."""
        for i, active in enumerate(self.templates.features(words)):
            yield "\t".join(
                [*(f"u:{feature}" for feature in active), "b", *([] if tags is None else [tags[i]])]
            )


def write_lines(path: Path, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf8") as file:
        file.writelines(f"{line}\n" for line in lines)


def word_at(words: List[str], at: int) -> str:
    return words[at] if 0 <= at < len(words) else ("<s>" if at < 0 else "</s>")


@cache
def attributes(word: str) -> Dict[str, str]:
    lexeme = vocabulary()[word]
    values = {
        "orth": word,
        "lower": lexeme.lower_,
        "shape": lexeme.shape_,
        "length": str(len(word)),
    }
    shape = lexeme.shape_
    values["short_shape"] = "".join(c for i, c in enumerate(shape) if i == 0 or c != shape[i - 1])
    for n in range(1, 8):
        if len(word) >= n:
            values[f"prefix{n}"], values[f"suffix{n}"] = word[:n], word[-n:]
    tests: List[Tuple[str, Callable[[str], bool]]] = [
        ("has_digit", str.isdigit),
        ("has_upper", str.isupper),
    ]
    values.update({name: "1" for name, test in tests if any(map(test, word))})
    if "-" in word:
        values["has_hyphen"] = "1"
    return values
