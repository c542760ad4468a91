"""Parts of speech of Universal Dependencies 2 for a treebank of version 1, where conjunctions are CONJ.

python experiments/released/version_2.py FILE.conllu [FILE.conllu ...]

https://universaldependencies.org/v2/summary.html: CONJ is CCONJ.
"""

from pathlib import Path

import typer

POS = 3  # column
RENAMED = {"CONJ": "CCONJ"}


def main(files: list[Path]) -> None:
    for file in files:
        rows = [line.split("\t") for line in file.read_text(encoding="utf8").split("\n")]
        for row in rows:
            if len(row) > POS:
                row[POS] = RENAMED.get(row[POS], row[POS])
        file.write_text("\n".join("\t".join(row) for row in rows), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
