"""Copy the English treebanks from a folder of corpora to where the project looks for them, unless they are there.

python lay_out.py assets/en CORPORA
"""

import shutil
from pathlib import Path

import typer

FILES = ("ewt_train.conllu.gz", "ewt_dev.conllu.gz", "gum_train.conllu.gz", "gum_dev.conllu.gz")
OF_GUM = ("gum_train.ptb.gz", "gum_dev.ptb.gz", "gum_train.entities.jsonl.gz", "gum_dev.entities.jsonl.gz")
NAMES = ("wnut17_train.conll.gz",)


def main(output: Path, corpora: str = typer.Argument("", help="With en_ewt, en_gum and wnut17")) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name in (*FILES, *OF_GUM, *NAMES):
        corpus, _, part = name.partition("_")
        source = Path(corpora) / (corpus if name in NAMES else f"en_{corpus}") / part
        if not (output / name).exists():
            if not (corpora and source.exists()):
                raise SystemExit(f"{output / name} is missing: see project.yml for where it comes from")
            shutil.copyfile(source, output / name)


if __name__ == "__main__":
    typer.run(main)
