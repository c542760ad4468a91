"""Validate the corpora in assets/: columns, tag sets, chunk sequences, duplicates, splits. Prints a table.

python experiments/common/check_assets.py [ASSETS]
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from wasabi import Printer, table

PENN = set(
    "CC CD DT EX FW IN JJ JJR JJS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP VBZ "
    "WDT WP WP$ WRB # $ . , : ( ) `` ''".split()
)
CHUNKS = set("NP VP PP ADVP ADJP SBAR PRT CONJP INTJ".split())
CTB = set(
    "AD AS BA CC CD CS DEC DEG DER DEV DT ETC FW IJ JJ LB LC M MSP NN NR NT OD ON P PN PU SB SP VA VC VE VV".split()
)
SPLITS = ("train", "dev", "test")
Sentence = list[list[str]]


def main(assets: Path) -> int:
    msg = Printer()
    problems: list[str] = []
    rows = []
    for folder, suffix in (("en", "conll"), ("zh", "conllu")):
        seen: dict[str, str] = {}
        for split in SPLITS:
            path = assets / folder / f"{split}.{suffix}"
            sentences = list(read_sentences(path))
            for line, sentence in sentences:
                where = f"{path}:{line}"
                problems += [f"{where}: {p}" for p in check_sentence(folder, sentence)]
                words = " ".join(columns[0] for columns in sentence)
                if words in seen:
                    problems.append(f"{where}: the same sentence stands at {seen[words]}")
                seen[words] = where
            tokens = [columns for _, sentence in sentences for columns in sentence]
            types = len({columns[0] for columns in tokens})
            tags = len({columns[1] for columns in tokens if len(columns) == 3})
            rows.append((folder, split, len(sentences), len(tokens), types, tags))
    print(
        table(
            rows,
            header=("corpus", "split", "sentences", "tokens", "word types", "tags"),
            divider=True,
        )
    )
    for problem in problems:
        msg.fail(problem)
    if not problems:
        msg.good("No problems found")
    return 1 if problems else 0


def read_sentences(path: Path) -> Iterator[tuple[int, Sentence]]:
    """(line number, rows of (word, tag, chunk)) of each sentence."""
    sentence: Sentence = []
    first = 1
    for number, line in enumerate([*path.read_text(encoding="utf8").splitlines(), ""], 1):
        if path.suffix == ".conllu" and line.startswith("#"):
            continue  # a comment; in the other format it would be the pound sign
        if line.strip():
            first = number if not sentence else first
            is_conllu = path.suffix == ".conllu"
            columns = line.split("\t" if is_conllu else " ")
            if len(columns) != (10 if is_conllu else 3):
                sentence.append([f"{len(columns)} columns"])
            else:
                sentence.append([columns[1], columns[4], "O"] if is_conllu else columns)
        elif sentence:
            yield first, sentence
            sentence = []


def check_sentence(folder: str, sentence: Sentence) -> Iterator[str]:
    tags = PENN if folder == "en" else CTB
    before = "O"
    for i, columns in enumerate(sentence, 1):
        if len(columns) == 1:
            yield f"token {i} has {columns[0]}; CoNLL-U has 10, CoNLL-2000 three: word, tag and chunk"
            return
        if not all(columns):
            yield f"token {i} has 3 columns, but one of them is empty"
            return
        _, tag, chunk = columns
        if tag not in tags:
            yield f"token {i}: unknown tag {tag!r}"
        if chunk != "O":
            prefix, _, kind = chunk.partition("-")
            if prefix not in ("B", "I") or kind not in CHUNKS:
                yield f"token {i}: unknown chunk label {chunk!r}"
            elif prefix == "I" and before not in (f"B-{kind}", f"I-{kind}"):
                yield f"token {i}: {chunk!r} follows {before!r}"
        before = chunk


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("assets")))
