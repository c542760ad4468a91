"""The corpora of the papers, from the first of these that has them: the folder named by HOSEQ_CORPORA, the files that
are downloaded already, the addresses in project.yml.

    python corpora.py OUTPUT [--environment FOLDER] [--ptb-dir FOLDER] [--ctb-dir FOLDER]

OUTPUT/sources has files in the layout of the folder, OUTPUT/NAME the parts of each corpus as .spacy files. What is
downloaded must have the content that the tables of docs/papers were made from (SHA-256). Where the licensed treebanks
are, they take the place of the open samples.
"""

import gzip
import hashlib
import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import typer
from wasabi import msg

HERE = Path(__file__).parent
DOWNLOAD = HERE.parent / "common" / "download.py"
TREEBANKS = HERE.parent / "treebanks"
N_TREES = 149  # files of NLTK's sample that the tables were made from; it has more
FOLDS = set("01234")  # of the letters that the checksum is of
FOLD = 5  # column


class Source(NamedTuple):
    """A file of the layout. place: below the folder. assets: what it is made of. content: makes it of their bytes.
    sha256: of the content."""

    place: str
    assets: list[str]
    content: Callable[[list[bytes]], bytes]
    sha256: str


def conll2000(data: list[bytes]) -> bytes:
    return unzipped(data[0], "conll2000/train.txt")


def letters(data: list[bytes]) -> bytes:
    return gzip.decompress(data[0])


def same(data: list[bytes]) -> bytes:
    return data[0]


def semeval(first: bool) -> Callable[[list[bytes]], bytes]:
    """Words and tags of SemEval-2016 task 9, first nine tenths or last tenth of each file. A word with several heads
    has several rows."""

    def content(data: list[bytes]) -> bytes:
        chosen = []
        for file in data:
            sentences = [*map(tagged, file.decode("utf8").replace("\r", "").strip().split("\n\n"))]
            n = 9 * len(sentences) // 10
            chosen += sentences[:n] if first else sentences[n:]
        return "".join(f"{sentence}\n\n" for sentence in chosen).encode()

    return content


def tagged(sentence: str) -> str:
    words: dict[str, str] = {}
    for row in sentence.split("\n"):
        number, word, _, tag, *_ = row.split("\t")
        words.setdefault(number, f"{word}\t{tag}")
    return "\n".join(words.values())


SEMEVAL = ["assets/semeval2016_news.conll", "assets/semeval2016_text.conll"]
SOURCES = (
    Source(
        "conll2000/train.txt",
        ["assets/conll2000.zip"],
        conll2000,
        "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    ),
    Source(
        "ocr/letter.data",
        ["assets/letter.data.gz"],
        letters,
        "9867b298535714e09a8aef030b51b03f2469916f6614cab64b752ef4d1c770a5",
    ),
    Source(
        "zh_ctb_sdp/train.tsv",
        SEMEVAL,
        semeval(True),
        "467590b946c628836b961514bb3deea3cda340550783d1d9692da4df7add1ca6",
    ),
    Source(
        "zh_ctb_sdp/dev.tsv",
        SEMEVAL,
        semeval(False),
        "be6411f81cf191aa36060b531aa27b344e89dc09715045f6dabf125cf208ec58",
    ),
    Source(
        "zh_ner_resume/train.char.bmes",
        ["assets/resume_train.char.bmes"],
        same,
        "93b9bb0be5dd4730121587f9dc1378de3fbbe55cba1c575edec271f822c27be7",
    ),
    Source(
        "zh_ner_resume/dev.char.bmes",
        ["assets/resume_dev.char.bmes"],
        same,
        "1b0d67153e6e8543e9444936ed1b107bd843078c282533898085e1a9aa293952",
    ),
)
TREES = "ptb_sample/combined"
TREES_ASSET = "assets/treebank.zip"
TREES_SHA256 = (
    "34c9741d1cd5013e911dc109a0406c96c7c778e0d9a92ac6bf5e09949eda9b06"  # of all files, end to end
)


def main(output: Path, environment: str = "", ptb_dir: str = "", ctb_dir: str = "") -> None:
    sources = output / "sources"
    for source in SOURCES:
        lay_out(source, sources, environment)
    lay_out_trees(sources, environment)
    sample = ["--sample", sources / TREES, "--tenths", 2, "--name", "the Penn Treebank"]
    run(TREEBANKS / "convert.py", output / "ptb", "--folder", ptb_dir, *sample)
    if ptb_dir:  # sections 15-18, 21 and 20, as in the papers; tags are the treebank's
        run(
            TREEBANKS / "convert.py",
            output / "chunks",
            "--folder",
            ptb_dir,
            "--split",
            "wsj-chunking",
            *sample,
        )
        shutil.copytree(output / "chunks", output / "layers", dirs_exist_ok=True)
    else:
        folder = Path(environment or sources) / "conll2000"
        folder = folder if (folder / "test.txt").is_file() else sources / "conll2000"
        run(HERE / "conll.py", output / "chunks", "--folder", folder)
        shutil.copytree(output / "ptb", output / "layers", dirs_exist_ok=True)
    if ctb_dir:
        run(
            TREEBANKS / "convert.py",
            output / "rules",
            "--folder",
            ctb_dir,
            "--split",
            "sighan2008",
            "--lang",
            "zh",
        )
        return
    for part, file in (("train", "train.tsv"), ("test", "dev.tsv")):
        target = [
            "-o",
            output / "rules" / f"{part}.spacy",
            "--format",
            "columns",
            "--lang",
            "zh",
            "--n-sents",
            1,
        ]
        run("-m", "spacy", "hoseq", "convert", sources / "zh_ctb_sdp" / file, *target, "--force")


def lay_out(source: Source, sources: Path, environment: str) -> None:
    target = sources / source.place
    target.parent.mkdir(parents=True, exist_ok=True)
    theirs = Path(environment or sources) / source.place
    packed = theirs.with_name(f"{theirs.name}.gz")
    if theirs.is_file() or packed.is_file():
        data = theirs.read_bytes() if theirs.is_file() else gzip.decompress(packed.read_bytes())
    else:
        data = source.content([*map(downloaded, source.assets)])
        known = data if "ocr" not in source.place else of_folds(data)
        check(known, source.sha256, ", ".join(source.assets))
    target.write_bytes(data)
    msg.good(f"{target}")


def lay_out_trees(sources: Path, environment: str) -> None:
    target = sources / TREES
    theirs = Path(environment) / TREES
    if environment and theirs.is_dir():
        shutil.copytree(theirs, target, dirs_exist_ok=True)
    else:
        data = downloaded(TREES_ASSET)
        names = [f"treebank/combined/wsj_{i:04}.mrg" for i in range(1, N_TREES + 1)]
        files = [unzipped(data, name) for name in names]
        check(b"".join(files), TREES_SHA256, TREES_ASSET)
        target.mkdir(parents=True, exist_ok=True)
        for name, file in zip(names, files, strict=True):
            (target / Path(name).name).write_bytes(file)
    msg.good(f"{target}")


def of_folds(data: bytes) -> bytes:
    rows = data.decode("ascii").splitlines(keepends=True)
    return "".join(row for row in rows if row.split("\t")[FOLD] in FOLDS).encode()


def unzipped(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def downloaded(name: str) -> bytes:
    """The bytes of a file that project.yml lists under `downloads`, downloaded if it is not there."""
    run(DOWNLOAD, HERE, name)
    return (HERE / name).read_bytes()


def check(data: bytes, sha256: str, asset: str) -> None:
    if hashlib.sha256(data).hexdigest() != sha256:
        msg.fail(
            f"{asset}: not the content that the tables of docs/papers were made from",
            "Delete the file and run the command again, or name your own copy with HOSEQ_CORPORA.",
            exits=1,
        )


def run(*command: object) -> None:
    done = subprocess.run([sys.executable, *map(str, command)])
    if done.returncode not in (0, 3):  # 3: converted, something was left out
        raise typer.Exit(done.returncode)


if __name__ == "__main__":
    typer.run(main)
