"""Raw Chinese text: what is read, and the table."""

import gzip


def test_words_are_written_together(benchmarks, tmp_path):
    path = tmp_path / "train.conllu.gz"
    lines = ["# sent_id = 1", "1\t我们\t_", "2\t喝\t_", "", "1-2\t不是\t_", "1\t不\t_", "2\t是\t_", ""]
    with gzip.open(path, "wt", encoding="utf8") as file:
        file.write("\n".join(lines) + "\n")
    assert list(benchmarks("unspaced").unspaced(path)) == ["我们喝", "不是"]


def test_every_part_is_measured(benchmarks):
    found = benchmarks("unspaced").speeds(["我们喝茶。"], ["他不喝茶。", "我们喝水。"])
    assert [*found] == ["words", "words, tags", "all"]
    assert all(speed > 0 for speeds in found.values() for speed in speeds)
