"""Words of raw Chinese text: what labels of characters say besides the places in words, and what known words gain.

    python -m benchmarks.chinese_words --data CORPORA [--page docs/measurements/chinese.md]

A segmenter of configs/zh_words.cfg is trained on UD Chinese GSD. Measured after the last epoch, on the sentences of the
development part, without spaces: F of whole words, and the share of words that training has not seen which are found.
"""

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

import spacy
import typer
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin

from .page import show, write_table
from .sizes_corpora import Rows, sentences

CONFIG = Path(__file__).parents[1] / "configs" / "zh_words.cfg"
TRAINING, MEASURED = "zh_ud_gsd/train.conllu.gz", "zh_ud_gsd/dev.conllu"
FORM, POS, TAG = 1, 3, 4  # columns
LABELS = {"places in words": "", "with tags": "tag"}
HEADER = ("Labels", "F of words", "recall of unknown words")


def main(
    data: Path = typer.Option(..., help="The folder of corpora", exists=True),
    page: Optional[Path] = typer.Option(None, help="The page whose table is replaced"),
) -> None:
    training, measured = (list(sentences(data / name)) for name in (TRAINING, MEASURED))
    known = {row[FORM] for rows in training for row in rows}
    cells: List[List[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        parts = {"train": training, "dev": measured}
        for part, corpus in parts.items():
            written(corpus, Path(folder) / f"{part}.spacy")
        for name, kinds in LABELS.items():
            cut = cut_by(segmenter(Path(folder), kinds), ["".join(words_of(rows)) for rows in measured])
            f, recall = scores([words_of(rows) for rows in measured], cut, known)
            cells.append([name, f"{f:.2%}", f"{recall:.2%}"])
    show(HEADER, cells)
    if page is not None:
        write_table(page, "words of raw text", HEADER, cells)


def written(corpus: List[Rows], path: Path) -> None:
    vocab = spacy.blank("xx").vocab
    docs = [
        Doc(vocab, words=words_of(rows), tags=[row[TAG] for row in rows], pos=[row[POS] for row in rows])
        for rows in corpus
    ]
    DocBin(docs=docs).to_disk(path)


def words_of(rows: Rows) -> List[str]:
    return [row[FORM] for row in rows]


def segmenter(folder: Path, kinds: str) -> Path:
    """A trained tagger of characters."""
    overrides: Dict[str, Any] = {f"corpora.{part}.kinds": kinds for part in ("train", "dev")}
    overrides.update({f"paths.{part}": str(folder / f"{part}.spacy") for part in ("train", "dev")})
    output = folder / f"words-{kinds}"
    with contextlib.redirect_stdout(io.StringIO()):
        train(CONFIG, output, overrides={**overrides, "training.logger.progress_bar": None})
    return output / "model-last"


def cut_by(path: Path, texts: List[str]) -> List[List[str]]:
    """The words of texts."""
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_hoseq.CharacterTokenizer.v1"}}})
    tokenizer: Any = nlp.tokenizer
    tokenizer.initialize(segmenter=str(path))
    return [[token.text for token in doc] for doc in tokenizer.pipe(texts)]


def scores(gold: List[List[str]], cut: List[List[str]], known: Set[str]) -> Tuple[float, float]:
    """F of words, recall of those that are not known."""
    right = n_gold = n_cut = unknown = unknown_right = 0
    for words, guesses in zip(gold, cut, strict=True):
        there = set(spans(guesses))
        hits = [span in there for span in spans(words)]
        right, n_gold, n_cut = right + sum(hits), n_gold + len(words), n_cut + len(guesses)
        new = [hit for word, hit in zip(words, hits, strict=True) if word not in known]
        unknown, unknown_right = unknown + len(new), unknown_right + sum(new)
    return 2 * right / (n_gold + n_cut), unknown_right / max(unknown, 1)


def spans(words: List[str]) -> List[Tuple[int, int]]:
    """Where words begin and end, in characters."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    return list(zip(ends[:-1], ends[1:], strict=True))


if __name__ == "__main__":
    typer.run(main)
