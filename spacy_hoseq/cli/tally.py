"""What a conversion has read: counts, labels, and the problems it has met, as tables."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Iterable, Iterator, List, Sequence, Union

from wasabi import Printer

from ..readers.sentences import LabelledSpan, Problem, Sentence

SHOWN = 20  # problems in the table
LABELS = 12  # of a kind
WORDS = 30  # of the first sentence
NO_TREE = "Sentences without heads (no tree)"
OTHERS = "Files of other endings, not read"
LEFT_OUT = "Files in no part asked for"
ALWAYS = ("Files", "Sentences", "Tokens", "Problems")
ROWS = (
    "Files",
    OTHERS,
    LEFT_OUT,
    "Docs",
    "Sentences",
    "Tokens",
    "Chunks",
    "Entities",
    "Traces dropped",
    "Sentences of traces only",
    "Entity tags mended",
    NO_TREE,
    "Problems",
)


@dataclass
class Tally:
    """What was read: numbers of things, labels of each kind, the first sentence, problems in order."""

    counts: "Counter[str]" = field(default_factory=Counter)
    tags: "Counter[str]" = field(default_factory=Counter)
    chunks: "Counter[str]" = field(default_factory=Counter)
    entities: "Counter[str]" = field(default_factory=Counter)
    first: Sequence[str] = ()
    problems: List[Problem] = field(default_factory=list)

    def sentences_of(self, items: Iterable[Union[Sentence, Problem]]) -> Iterator[Sentence]:
        """The sentences that have words; everything is counted."""
        for item in items:
            if isinstance(item, Problem):
                self.problems.append(item)
                continue
            self.counts["Traces dropped"] += item.n_traces
            self.counts["Entity tags mended"] += item.n_mended
            self.counts[NO_TREE] += item.heads is None and any(item.deps or ())
            self.counts["Sentences" if item.words else "Sentences of traces only"] += 1
            self.counts["Tokens"] += len(item.words)
            self.tags.update(tag for tag in item.tags or () if tag)
            self.chunks.update(chunk.name for chunk in item.chunks or ())
            self.entities.update(entity.name for entity in item.entities or ())
            self.first = self.first or as_read(item)
            if item.words:
                yield item

    @property
    def recipe(self) -> str:
        """What to train on it."""
        if self.tags:
            return "tagger"
        return "entities" if self.entities else "chunker" if self.chunks else "tagger"


def as_read(sentence: Sentence) -> List[str]:
    """The words of a sentence, with tags behind them and spans in brackets: "[Ann/NNP PER]"."""
    words = list(sentence.words[:WORDS])
    for i, tag in enumerate((sentence.tags or ())[:WORDS]):
        words[i] += f"/{tag}" if tag else ""
    spans: Sequence[LabelledSpan] = sentence.entities or sentence.chunks or ()
    for first, end, name in spans:
        if end <= len(words):
            words[first] = f"[{words[first]}"
            words[end - 1] += f" {name}]"
    return [*words, "..."] if len(sentence.words) > WORDS else words


def show_counts(msg: Printer, tally: Tally) -> None:
    """The counts, without those that are 0 and need no mention; labels; the first sentence."""
    spans = {"Chunks": tally.chunks.total(), "Entities": tally.entities.total()}
    counts = {**tally.counts, **spans, "Problems": len(tally.problems)}
    rows = [
        (name, f"{counts.get(name, 0):,}") for name in ROWS if name in ALWAYS or counts.get(name)
    ]
    msg.table(rows, aligns=("l", "r"))
    labels = {"Tags": tally.tags, "Chunks": tally.chunks, "Entities": tally.entities}
    for name, counts in labels.items():
        if counts:
            listed = [f"{label} {n:,}" for label, n in counts.most_common(LABELS)]
            more = f", {len(counts) - LABELS:,} more" if len(counts) > LABELS else ""
            msg.text(f"{name}: {', '.join(listed)}{more}")
    if tally.first:
        msg.text(f"First sentence: {' '.join(tally.first)}")


def show_problems(msg: Printer, problems: List[Problem]) -> None:
    """The first problems with file and line, and how many there are in each file if there are
    more."""
    rows = [
        (f"{path}:{line}", actual, expected) for path, line, actual, expected in problems[:SHOWN]
    ]
    msg.table(rows, header=("Where", "Found", "Expected"), divider=True, max_col=60)
    if len(problems) > SHOWN:
        counts = Counter(str(problem.path) for problem in problems)
        msg.text(f"and {len(problems) - SHOWN:,} more. Problems by file:")
        msg.table([(path, f"{count:,}") for path, count in counts.items()], aligns=("l", "r"))
