"""Copy treebanks and names from a folder of corpora to where the project looks for them, unless they are there.

python lay_out.py assets/en CORPORA
"""

import shutil
from pathlib import Path

import typer

GUM = [
    f"{part}.{kind}.gz" for part in ("train", "dev") for kind in ("conllu", "ptb", "entities.jsonl")
]
UNER = "uner_zh_gsdsimp/zh_gsdsimp-ud"
SOURCES: dict[
    str, dict[str, str]
] = {  # of each folder in assets: file -> where it is among the corpora
    "en": {
        "ewt_train.conllu.gz": "en_ewt/train.conllu.gz",
        "ewt_dev.conllu.gz": "en_ewt/dev.conllu.gz",
        **{f"gum_{part}": f"en_gum/{part}" for part in GUM},
        "wnut17_train.conll.gz": "wnut17/train.conll.gz",
        "wikigold.conll.gz": "wikigold/wikigold.conll.gz",
        "btc_train.conll.gz": "btc/train.conll.gz",
    },
    "peers": {
        "uner_dev.iob2.gz": "uner_en_ewt/en_ewt-ud-dev.iob2.gz",
        "wnut17_dev.conll.gz": "wnut17/dev.conll.gz",
    },
    "zh": {f"names_{part}.iob2.gz": f"{UNER}-{part}.iob2.gz" for part in ("train", "dev")},
}


def main(
    output: Path, corpora: str = typer.Argument("", help="With the folders that SOURCES names")
) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name, place in SOURCES[output.name].items():
        source = Path(corpora) / place
        if not (output / name).exists():
            if not (corpora and source.exists()):
                raise SystemExit(
                    f"{output / name} is missing: see project.yml for where it comes from"
                )
            shutil.copyfile(source, output / name)


if __name__ == "__main__":
    typer.run(main)
