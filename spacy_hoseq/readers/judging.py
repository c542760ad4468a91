"""What came out of a corpus, and what looks wrong in it: to recognise formats, and before advice.

A `Finding` has the share of the outcome that it spoils. Recognition multiplies what the findings leave
over; `hoseq convert` shows those of a whole corpus as warnings.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from spacy.parts_of_speech import IDS as POS

from .sentences import Problem, Sentence


class Finding(NamedTuple):
    """Something that looks wrong. spoiled (float): share of the outcome, 0 to 1. seen: what it is.
    do: what mends it."""

    spoiled: float
    seen: str
    do: str


class Outcome:
    """Counts of the sentences and problems of corpus files.

    counts: numbers of things. labels: of each kind, how often. problems: all. longest (int): words
    of the longest sentence. first: the first sentence.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.labels: dict[str, Counter[str]] = {
            "Tags": Counter(),
            "Chunks": Counter(),
            "Entities": Counter(),
        }
        self.problems: list[Problem] = []
        self.unread: Counter[str] = Counter()
        self.longest = 0
        self.first: Sentence | None = None
        self._words: set[str] = set()

    def add(self, item: Sentence | Problem) -> None:
        """Count a sentence or a problem."""
        if isinstance(item, Problem):
            self.problems.append(item)
            self.counts["Problems"] += 1
            self.counts["Spans lost" if item.is_partial else "Sentences lost"] += 1
            return
        self.counts["Sentences" if item.words else "Sentences of traces only"] += 1
        self.counts["Tokens"] += len(item.words)
        self.counts["Traces dropped"] += item.n_traces
        self.counts["Entity tags mended"] += item.n_mended
        self.counts["Annotations dropped"] += item.n_dropped
        if item.heads is None and any(item.deps or ()):
            self.counts["Sentences without heads (no tree)"] += 1
        layers = (item.tags, item.chunks, item.entities, item.lemmas, item.pos, item.heads)
        self.counts["Texts without annotation"] += not any(layer is not None for layer in layers)
        self.counts["with other layers"] += any(map(any, (item.lemmas or (), item.pos or ())))
        self.counts["with entities"] += item.entities is not None
        self.counts["with chunks"] += item.chunks is not None
        self.labels["Tags"].update(filter(None, item.tags or ()))
        self.labels["Chunks"].update(chunk.name for chunk in item.chunks or ())
        self.labels["Entities"].update(entity.name for entity in item.entities or ())
        self.unread.update(item.unread)
        self._words.update(item.words)
        self.counts["words with white space"] += sum(map(_is_broken, item.words))
        self.counts["words without letters"] += sum(map(_is_numeric, item.words))
        if self.first is None and item.words:
            self.first = item
        # of a text, sentences are not known or marked by line
        if not item.is_text:
            self.longest = max(self.longest, len(item.words))

    @property
    def lost(self) -> float:
        """Share of the sentences that could not be read."""
        n_lost = self.counts["Sentences lost"]
        return n_lost / max(self.counts["Sentences"] + n_lost, 1)

    @property
    def richness(self) -> int:
        """How many kinds of annotation there are."""
        kinds = ("with other layers", "with entities", "with chunks")
        return sum(self.counts[kind] > 0 for kind in kinds) + bool(self.labels["Tags"])

    @property
    def score(self) -> float:
        """Share of the outcome, 0 to 1, that no finding spoils."""
        score = float(self.counts["Sentences"] > 0)
        for finding in self.findings():
            score *= 1 - finding.spoiled
        return score

    def findings(self) -> Iterator[Finding]:
        """What looks wrong, the worst kinds first."""
        yield from self._unread_lines()
        if not self.counts["Sentences"]:
            return
        if not self.richness:
            do = "Name the columns (--tag-column, --entity-column)"
            for sign in ",;|":
                if sum(sign in word for word in self._words) > 0.9 * len(self._words):
                    do = f'Say what separates columns (--separator "{sign}")'
            yield Finding(1.0, "no word has a label", do)
        yield from self._odd_tags()
        yield from self._odd_words()
        for what, n in self.unread.items():
            name = what.partition(":")[0]
            do = f"Name the one to read (--entity-column, --chunk-column), if it is not {name}"
            if name.endswith("= in column 10 has labels"):
                do = "Names are read as NER=B-PER"
            yield Finding(0.1, f"{what}, {n:,} times; not read", do)
        if self.counts["with entities"] and not self.labels["Entities"]:
            yield Finding(0.1, "there are no names", "Say which column has them (--entity-column)")
        yield from self._lost_labels()

    def _unread_lines(self) -> Iterator[Finding]:
        n_bytes = sum(problem.actual.startswith("the byte 0x") for problem in self.problems)
        if any(problem.actual == "the character U+0000" for problem in self.problems):
            seen = "it is no text in this encoding"
            yield Finding(self.lost, seen, "Unpack it, or save it as text in UTF-8")
        elif 2 * n_bytes > len(self.problems):
            seen = f"{n_bytes:,} lines are not in this encoding"
            yield Finding(
                self.lost, seen, "Name another one: -e latin-1 reads it, if its language is western"
            )
        elif self.lost:
            first = self.problems[0]
            n = self.counts["Sentences lost"]
            of = n + self.counts["Sentences"]
            seen = (
                f"{n:,} of {of:,} cannot be read, the first for line {first.line}: {first.actual}"
            )
            yield Finding(self.lost, seen, f"Expected: {first.expected}")

    def _odd_tags(self) -> Iterator[Finding]:
        tags = self.labels["Tags"]
        do = "Say which column has tags (--tag-column 3; 0: none)"
        likeness = label_likeness(tags, len(self._words))
        if tags and likeness < 0.8:
            shown = ", ".join(f'"{tag}"' for tag in list(tags)[:3])
            seen = f"{len(tags):,} different tags of {len(self._words):,} different words, such as {shown}"
            yield Finding(1 - likeness, seen, do)
        if len(tags) == 1 and tags.total() > 20:
            spoiled = 0.1 if self.richness > 1 else 0.65
            yield Finding(spoiled, f'all tags are "{next(iter(tags))}"', do)

    def _odd_words(self) -> Iterator[Finding]:
        n_tokens = max(self.counts["Tokens"], 1)
        n_broken = self.counts["words with white space"]
        if n_broken > 0.05 * n_tokens and n_tokens > 10:
            seen = f"{n_broken:,} of {n_tokens:,} words have white space within"
            yield Finding(n_broken / n_tokens, seen, 'Say what separates columns (--separator " ")')
        n_numeric = self.counts["words without letters"]
        if n_numeric > 0.6 * n_tokens and n_tokens > 3:
            seen = f"{n_numeric:,} of {n_tokens:,} words are numbers"
            yield Finding(n_numeric / n_tokens, seen, "Say which column has words (--word-column)")
        if self.longest > 1000:
            seen = f"a sentence of {self.longest:,} words: there are no sentence boundaries"
            yield Finding(0.2, seen, "Put an empty line after each sentence")

    def _lost_labels(self) -> Iterator[Finding]:
        n_dropped = self.counts["Annotations dropped"]
        if n_dropped:
            n_read = sum(labels.total() for labels in self.labels.values())
            seen = f"{n_dropped:,} annotations are dropped: of parts of words, without label, or on others"
            do = "Those that overlap are kept with --spans-key"
            yield Finding(n_dropped / (n_dropped + n_read), seen, do)
        n_lost = self.counts["Spans lost"]
        if n_lost > self.labels["Entities"].total():
            problem = next(problem for problem in self.problems if problem.is_partial)
            seen = f"most spans cannot be read, {n_lost:,}, the first: {problem.actual}"
            yield Finding(0.5, seen, f"Expected: {problem.expected}")


def label_likeness(labels: Mapping[str, int], n_words: int) -> float:
    """How much labels are like tags, 0 to 1: few for many words, or of the form of tags. n_words
    (int): number of different words."""
    n_labels = sum(labels.values())
    if n_labels >= 50 and len(labels) > max(0.6 * n_words, 20):
        return 0.0
    # signs are tags beside others
    if not any(re.search(r"[^\W\d_]", label) for label in labels):
        return 0.0
    # many words have the same label
    if n_labels >= 30 and len(labels) <= 0.35 * min(n_labels, 2 * n_words):
        return 1.0
    n_formed = sum(n for label, n in labels.items() if _is_formed(label))
    return n_formed / max(n_labels, 1)


def _is_formed(label: str) -> bool:
    """True for NNP, B-geo, noun, n, and signs; False for words and numbers."""
    if label.upper() in POS or re.fullmatch(r"[BIMELSU]-\S+|[a-z]{1,2}\d?|\W+", label):
        return True
    return re.fullmatch(r"[A-Z][^a-z\s]{,29}", label) is not None


def _is_broken(word: str) -> bool:
    return word.strip() != "" and re.search(r"\s", word) is not None


def _is_numeric(word: str) -> bool:
    return re.fullmatch(r"[\W\d_]*\d[\W\d_]*", word) is not None
