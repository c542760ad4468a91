"""Texts of every kind, one call each: is any of them slow?

    python -m benchmarks.slow_texts [--pipeline en] [--texts 24000] [--seed 0] [--slowest 5]

Docstrings, source code and markup are read from the packages that are installed here; tables, emoji, repeated words,
capitals and other scripts are made of them or drawn at random. Nothing is stored. Each text is called once; one that
seems slow is called twice more, and its least time counts, so that other work on the machine is not taken for it.
Printed for each kind: the median of microseconds per token, its largest ratio to the median of all kinds (of texts of
at least 10 tokens), and the largest time per 50 tokens, where a text of fewer counts as 50.
"""

import ast
import random
import statistics
import sys
import sysconfig
import time
from itertools import islice
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

import typer
from spacy.language import Language

import spacy_hoseq

from .page import show

MIN_TOKENS = 10  # of a text whose time per token is compared: below, the call itself is what takes time
CHARACTERS = 1_500  # of a text at most, but for the long ones
LONG = 5_000  # tokens of a long text
HEADER = ("kind", "texts", "tokens", "median µs/token", "worst ratio", "worst ms/50 tokens")
SCRIPTS = {  # first and last character
    "Greek": (0x3B1, 0x3C9),
    "Cyrillic": (0x430, 0x44F),
    "Hebrew": (0x5D0, 0x5EA),
    "Arabic": (0x627, 0x64A),
    "Devanagari": (0x905, 0x939),
    "Thai": (0xE01, 0xE2E),
    "Hangul": (0xAC00, 0xD7A3),
    "Kana": (0x3041, 0x3096),
    "Han": (0x4E00, 0x9FA5),
}
EMOJI = [chr(code) for code in range(0x1F600, 0x1F650)]
PUNCTUATION = ["^", "``", "''", "`", "*", "|", "=>", "::", "<<", ">>", "...", "--", "%", "$", "#", "@", "\\", "~"]

Texts = Iterator[str]


class Call(NamedTuple):
    kind: str
    text: str
    n_tokens: int
    seconds: float

    @property
    def per_token(self) -> float:
        return self.seconds / self.n_tokens


def main(
    # fmt: off
    pipeline: str = typer.Option("en", help="Name of an included pipeline, or a folder"),
    texts: int = typer.Option(24_000, help="How many texts, of all kinds together"),
    seed: int = typer.Option(0, help="Of what is drawn at random"),
    slowest: int = typer.Option(5, help="Texts to show the beginnings of"),
    # fmt: on
) -> None:
    nlp = spacy_hoseq.load(pipeline)
    for warm in islice(docstrings(random.Random(seed)), 300):
        nlp(warm)
    calls = measure(nlp, texts_of(texts, random.Random(seed)))
    show(HEADER, rows(calls))
    for call in sorted(calls, key=lambda call: -call.per_token)[:slowest]:
        print(f"{1e6 * call.per_token:7.0f} µs/token  {call.n_tokens:6} tokens  {call.kind}: {call.text[:90]!r}")


def texts_of(n: int, chance: random.Random) -> Iterator[Tuple[str, str]]:
    """(kind, text), about n in all."""
    each = n // len(KINDS) + 1
    for kind, make in KINDS.items():
        yield from ((kind, text) for text in islice(make(chance), each) if text.strip())
    yield from (("long", text) for text in long_texts(chance))


def measure(nlp: Language, texts: Iterator[Tuple[str, str]]) -> List[Call]:
    calls: List[Call] = []
    typical = 1e-4  # seconds a token
    for kind, text in texts:
        seconds, n_tokens = timed(nlp, text)
        if n_tokens < MIN_TOKENS:
            continue
        if seconds / n_tokens > 4 * typical:
            seconds = min(seconds, *(timed(nlp, text)[0] for _ in range(2)))
        calls.append(Call(kind, text, n_tokens, seconds))
        if len(calls) % 500 == 0:
            typical = statistics.median(call.per_token for call in calls[-500:])
    return calls


def timed(nlp: Language, text: str) -> Tuple[float, int]:
    start = time.process_time()
    n_tokens = len(nlp(text))
    return time.process_time() - start, n_tokens


def rows(calls: List[Call]) -> List[Tuple[str, ...]]:
    """Columns as in HEADER, the worst kind first, all of them last."""
    median = statistics.median(call.per_token for call in calls)
    of_kind: Dict[str, List[Call]] = {}
    for call in calls:
        of_kind.setdefault(call.kind, []).append(call)
    ordered = sorted(of_kind.items(), key=lambda item: -max(call.per_token for call in item[1]))
    return [row(kind, some, median) for kind, some in [*ordered, ("all", calls)]]


def row(kind: str, calls: List[Call], median: float) -> Tuple[str, ...]:
    per_token = [call.per_token for call in calls]
    worst = max(per_token)
    most = max(call.seconds / max(call.n_tokens / 50, 1) for call in calls)
    n_tokens = sum(call.n_tokens for call in calls)
    middle = f"{1e6 * statistics.median(per_token):.0f}"
    return kind, f"{len(calls):,}", f"{n_tokens:,}", middle, f"{worst / median:.1f}", f"{1e3 * most:.2f}"


def installed(pattern: str, chance: random.Random) -> Iterator[str]:
    """What installed files hold, in an order drawn at random."""
    files = sorted(Path(sysconfig.get_paths()["purelib"]).rglob(pattern))
    files += sorted(Path(sysconfig.get_paths()["stdlib"]).rglob(pattern))
    chance.shuffle(files)
    for path in files:
        try:
            yield path.read_text("utf8")[:200_000]
        except (OSError, UnicodeDecodeError):
            continue


def docstrings(chance: random.Random) -> Texts:
    """Those with backticks and operators first; then their paragraphs."""
    for source in installed("*.py", chance):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                if "`" in text or chance.random() < 0.3:
                    yield text[:CHARACTERS]
                    yield from (part for part in text.split("\n\n") if "``" in part)


def code(chance: random.Random) -> Texts:
    for source in installed("*.py", chance):
        for start in range(0, min(len(source), 6_000), 1_000):
            yield source[start : start + 1_000]


def markup(chance: random.Random) -> Texts:
    for pattern in ("*.html", "*.xml", "*.svg", "*.css", "*.js", "*.json", "*.rst", "*.md", "*.txt", "*.pyi"):
        for source in islice(installed(pattern, chance), 40):
            at = chance.randrange(max(1, len(source) - 1_000))
            yield source[at : at + 1_000]
    words = words_of(chance)
    while True:
        yield f"<table>{''.join(f'<tr><td>{next(words)}</td><td>{n}</td></tr>' for n in range(12))}</table>"


def tables(chance: random.Random) -> Texts:
    words = words_of(chance)
    while True:
        separator = chance.choice([" | ", "\t", ", ", "  ", ";"])
        n_columns = chance.randrange(2, 9)
        rows_ = []
        for _ in range(chance.randrange(2, 15)):
            cells = [a_number(chance) if chance.random() < 0.6 else next(words) for _ in range(n_columns)]
            rows_.append(separator.join(cells))
        yield "\n".join(rows_)


def a_number(chance: random.Random) -> str:
    return f"{chance.gauss(0, 10 ** chance.randrange(6)):.{chance.randrange(4)}f}"


def emoji(chance: random.Random) -> Texts:
    words = words_of(chance)
    while True:
        n = chance.randrange(10, 60)
        some = chance.sample(EMOJI, chance.choice([1, 2, len(EMOJI)]))
        yield " ".join(chance.choice(some) if chance.random() < 0.8 else next(words) for _ in range(n))


def repeated(chance: random.Random) -> Texts:
    words = words_of(chance)
    while True:
        some = [next(words) for _ in range(chance.choice([1, 1, 2, 3]))]
        yield " ".join(some * (chance.randrange(15, 80) // len(some)))


def punctuation(chance: random.Random) -> Texts:
    words = words_of(chance)
    while True:
        share = chance.choice([0.1, 0.3, 0.6, 1.0])
        n = chance.randrange(15, 80)
        yield " ".join(chance.choice(PUNCTUATION) if chance.random() < share else next(words) for _ in range(n))


def capitals(chance: random.Random) -> Texts:
    yield from (text.upper() for text in docstrings(chance))


def titles(chance: random.Random) -> Texts:
    yield from (text.title() for text in docstrings(chance))


def lower(chance: random.Random) -> Texts:
    yield from ("".join(c for c in text.lower() if c.isalpha() or c == " ") for text in docstrings(chance))


def shuffled(chance: random.Random) -> Texts:
    for text in docstrings(chance):
        words = text.split()
        chance.shuffle(words)
        yield " ".join(words)


def numbers(chance: random.Random) -> Texts:
    while True:
        yield " ".join(str(chance.randrange(10 ** chance.randrange(1, 9))) for _ in range(chance.randrange(12, 60)))


def scripts(chance: random.Random) -> Texts:
    while True:
        first, last = chance.choice(list(SCRIPTS.values()))
        yield " ".join(random_word(first, last, chance) for _ in range(chance.randrange(12, 60)))


def new_words(chance: random.Random) -> Texts:
    while True:
        yield " ".join(random_word(0x61, 0x7A, chance) for _ in range(chance.randrange(12, 60)))


def random_word(first: int, last: int, chance: random.Random) -> str:
    return "".join(chr(chance.randint(first, last)) for _ in range(chance.randrange(1, 10)))


def words_of(chance: random.Random) -> Texts:
    while True:
        for text in docstrings(chance):
            yield from text.split()


def long_texts(chance: random.Random) -> Texts:
    """One of each, of LONG tokens; a word of as many characters."""
    yield "x" * LONG
    for word in ("😀", "the", "operator ``^``.", "NEW YORK", "данных", "1", "I", "```", "that that"):
        yield " ".join([word] * LONG)
    for make in (emoji, punctuation, scripts, new_words, tables, docstrings, code):
        text = ""
        for some in make(chance):
            text += f"{some} "
            if len(text) > 5 * LONG:
                break
        yield text


KINDS: Dict[str, Callable[[random.Random], Texts]] = {
    "docstrings": docstrings,
    "source code": code,
    "markup": markup,
    "tables": tables,
    "emoji": emoji,
    "one word repeated": repeated,
    "punctuation": punctuation,
    "capitals": capitals,
    "titles": titles,
    "no punctuation": lower,
    "words in any order": shuffled,
    "numbers": numbers,
    "other scripts": scripts,
    "new words": new_words,
}


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    typer.run(main)
