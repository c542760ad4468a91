"""A small copy of the corpora."""

import gzip

from ...repository import script

small = script("papers/small")


def test_some_of_each_file_are_kept(tmp_path):
    source, output = tmp_path / "all", tmp_path / "some"
    for folder in ("conll2000", "zh_pfr", "ocr", "ptb_sample/combined"):
        (source / folder).mkdir(parents=True)
    (source / "conll2000" / "train.txt").write_text("a\nb\n\nc\n\nd\n", encoding="utf8")
    (source / "zh_pfr" / "train.tsv.gz").write_bytes(gzip.compress("一\n\n二\n\n三\n".encode()))
    words = [(1, 0), (1, 0), (2, 0), (3, 0), (4, 0), (2, 1)]
    letters = [f"{i}\ta\t-1\t{word}\t1\t{fold}\t0\t\n" for i, (word, fold) in enumerate(words)]
    (source / "ocr" / "letter.data.gz").write_bytes(gzip.compress("".join(letters).encode()))
    for number in range(12):
        (source / "ptb_sample" / "combined" / f"wsj_{number:04}.mrg").write_text("( (X x) )", encoding="utf8")
    small.main(output, corpora=source, sentences=2, words=2)
    assert (output / "conll2000" / "train.txt").read_text(encoding="utf8") == "a\nb\n\nc\n\n"
    assert small.text_of(output / "zh_pfr" / "train.tsv.gz") == "一\n\n二\n\n"
    assert small.text_of(output / "ocr" / "letter.data.gz") == "".join(letters[i] for i in (0, 1, 3, 5))
    assert len(list((output / "ptb_sample" / "combined").iterdir())) == small.N_FILES
