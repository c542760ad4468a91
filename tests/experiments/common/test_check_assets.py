"""experiments/common/check_assets.py finds nothing in assets/, and what is wrong in damaged copies."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ...repository import ROOT, run

Lines = list[str]
SCRIPT = ROOT / "experiments" / "common" / "check_assets.py"


def unknown_tag(lines: Lines) -> None:
    lines[0] = "The XX B-NP"


def inside_after_outside(lines: Lines) -> None:
    lines[:3] = ["Yes UH O", "sir NN I-NP", ". . O"]


def same_sentence_twice(lines: Lines) -> None:
    lines += ["", *lines[: lines.index("")], ""]


def missing_column_in_conllu(lines: Lines) -> None:
    lines[0] = "1\t你好\tINTJ"


def unknown_tag_in_conllu(lines: Lines) -> None:
    columns = lines[0].split("\t")
    lines[0] = "\t".join([*columns[:4], "NOUN", *columns[5:]])


def test_assets_are_in_order():
    process = run(SCRIPT, ROOT / "assets")
    assert process.returncode == 0 and "No problems found" in process.stdout, process.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    "file,damage,message",
    [
        ("en/train.conll", unknown_tag, "train.conll:1: token 1: unknown tag 'XX'"),
        ("en/train.conll", inside_after_outside, "train.conll:1: token 2: 'I-NP' follows 'O'"),
        ("en/test.conll", same_sentence_twice, "test.conll:1025: the same sentence stands at "),
        ("zh/dev.conllu", missing_column_in_conllu, "dev.conllu:1: token 1 has"),
        ("zh/dev.conllu", unknown_tag_in_conllu, "dev.conllu:1: token 1: unknown tag 'NOUN'"),
    ],
)
def test_damage_is_found(file: str, damage: Callable[[Lines], None], message: str, tmp_path: Path):
    shutil.copytree(ROOT / "assets", tmp_path / "assets")
    path = tmp_path / "assets" / file
    lines = [
        line for line in path.read_text(encoding="utf8").split("\n") if not line.startswith("# ")
    ]
    damage(lines)
    path.write_text("\n".join(lines), encoding="utf8")
    process = run(SCRIPT, tmp_path / "assets")
    assert process.returncode == 1
    assert message in " ".join(process.stdout.split())  # long lines are wrapped
