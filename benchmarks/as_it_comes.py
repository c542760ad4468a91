"""Text as it comes: addresses, posts, times, markdown, HTML, code, letters, words in capitals and in lower case.

    python -m benchmarks.as_it_comes [ours=en] [NAME=PIPELINE ...] [--page docs/measurements/pipelines.md]

The texts are those of assets/en/as_it_comes.conllu and web.conllu, each kind one raw text with the line breaks of the
file. Words and sentences: F of both ends. Tags: of a right word, F; and of gold words, accuracy. NAME=PIPELINE is what
`spacy_hoseq.load` takes; tags of others than Penn's are wrong.
"""

from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

import typer
from spacy.language import Language
from spacy.tokens import Doc

import spacy_hoseq

from .page import show, write_table

ASSETS = Path(__file__).parents[1] / "assets" / "en"
FILES = {"as it comes": ASSETS / "as_it_comes.conllu", "web": ASSETS / "web.conllu"}  # by the names of their tables
OURS = ["ours=en"]
NO_PAGES: List[Path] = []
FORM, TAG, MISC = 1, 4, 9
HEADER = ["pipeline", "kind", "words", "words F", "sentences F", "tags F", "tags, gold words"]
Ends = Tuple[int, int]


class Text(NamedTuple):
    """A raw text; where its words and sentences are, and the tag of each word."""

    kind: str
    raw: str
    tags: Dict[Ends, str]
    sentences: Set[Ends]


class Counts(NamedTuple):
    """right, guessed, gold of words, sentences and tags; right and all of the tags of gold words."""

    words: Tuple[int, int, int]
    sentences: Tuple[int, int, int]
    tags: Tuple[int, int, int]
    given: Tuple[int, int]


def main(pipelines: List[str] = typer.Argument(None), page: List[Path] = NO_PAGES) -> None:
    loaded = {name: spacy_hoseq.load(source) for name, _, source in (each.partition("=") for each in pipelines or OURS)}
    for table, file in FILES.items():
        texts = texts_of(file)
        rows = [each for name, nlp in loaded.items() for each in rows_of(name, nlp, texts)]
        show(HEADER, rows)
        for each in page:
            write_table(each, table, HEADER, rows)


def rows_of(name: str, nlp: Language, texts: Sequence[Text]) -> Iterator[List[str]]:
    counts = [counted(nlp, text) for text in texts]
    for text, each in zip(texts, counts, strict=True):
        yield row(name, text.kind, each)
    yield row(name, "all", summed(counts))


def texts_of(path: Path) -> List[Text]:
    """One of each kind: a kind begins at `# newdoc id = KIND`, a line at `# newpar`."""
    texts: List[Text] = []
    for block in path.read_text(encoding="utf8").strip().split("\n\n"):
        lines = block.split("\n")
        for line in lines:
            if line.startswith("# newdoc"):
                texts.append(Text(line.partition(" = ")[2], "", {}, set()))
        kind, raw, tags, sentences = texts[-1]
        raw += "" if not raw else "\n" if "# newpar" in lines else " "
        start = len(raw)
        for cells in (line.split("\t") for line in lines if not line.startswith("#")):
            tags[len(raw), len(raw) + len(cells[FORM])] = cells[TAG]
            raw += cells[FORM] + ("" if cells[MISC] == "SpaceAfter=No" else " ")
        raw = raw.rstrip()
        sentences.add((start, len(raw)))
        texts[-1] = Text(kind, raw, tags, sentences)
    return texts


def counted(nlp: Language, text: Text) -> Counts:
    doc = nlp(text.raw)
    tags = {ends_of([token]): token.tag_ for token in doc if not token.is_space}
    inner = ([token for token in sentence if not token.is_space] for sentence in doc.sents)
    sentences = {ends_of(tokens) for tokens in inner if tokens}
    n_right = sum(tags.get(ends) == tag for ends, tag in text.tags.items())
    sizes = len(tags), len(text.tags)
    given = nlp(gold_words(nlp, text))
    wanted = zip(given, text.tags.values(), strict=True)
    return Counts(
        (len(tags.keys() & text.tags.keys()), *sizes),
        (len(sentences & text.sentences), len(sentences), len(text.sentences)),
        (n_right, *sizes),
        (sum(token.tag_ == tag for token, tag in wanted), len(given)),
    )


def ends_of(tokens: Sequence) -> Ends:
    return tokens[0].idx, tokens[-1].idx + len(tokens[-1])


def gold_words(nlp: Language, text: Text) -> Doc:
    """The words of a text, with a space where it has white space."""
    words = [text.raw[start:end] for start, end in text.tags]
    spaces = [text.raw[end : end + 1].isspace() for _, end in text.tags]
    return Doc(nlp.vocab, words, spaces)


def summed(counts: Sequence[Counts]) -> Counts:
    columns = zip(*counts, strict=True)
    return Counts(*(tuple(map(sum, zip(*column, strict=True))) for column in columns))


def row(name: str, kind: str, counts: Counts) -> List[str]:
    f = [f"{200 * right / (guessed + gold):.1f}" for right, guessed, gold in counts[:3]]
    right, n_words = counts.given
    return [name, kind, f"{n_words}", *f, f"{100 * right / n_words:.1f}"]


if __name__ == "__main__":
    typer.run(main)
