"""Put the handwritten letters (letter.data, plain or gzipped) where the workflow `ocr` looks for them.

    python lay_out.py OUTPUT.gz [--file FILE] [--environment FOLDER] [--assets FILE]

Taken from the first of these that is given: FILE, the folder named in the environment (letter.data or letter.data.gz,
in it or in its folder ocr/), the downloaded asset.
"""

import gzip
from pathlib import Path

import typer
from handwriting import read_letters
from wasabi import msg

PLACES = ("letter.data.gz", "letter.data", "ocr/letter.data.gz", "ocr/letter.data")


def main(
    output: Path,
    file: str = "",
    environment: str = "",
    assets: Path = Path("assets/ocr/letter.data.gz"),
) -> None:
    folder = [Path(environment) / place for place in PLACES] if environment else []
    places = [Path(file)] if file else [*folder, assets]
    source = next((path for path in places if path.is_file()), None)
    if source is None:
        msg.fail(
            f"No letters in {', '.join(map(str, places))}",
            "Run `python -m spacy project run download experiments/ocr` to download them, or name a file that you "
            "have: `python -m spacy project run ocr experiments/ocr --vars.letters FILE` (or set HOSEQ_CORPORA).",
            exits=1,
        )
        return
    data = source.read_bytes()
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(data if source.suffix == ".gz" else gzip.compress(data, mtime=0))
    words = list(read_letters(output))
    folds = sorted({fold for _, fold in words})
    msg.good(
        f"{len(words)} words, {sum(len(word) for word, _ in words)} letters, folds {folds}: {output}"
    )


if __name__ == "__main__":
    typer.run(main)
