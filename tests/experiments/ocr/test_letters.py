"""The letter.data format: what is read from files of invented images, and what each damaged line is told."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import spacy
from handwriting.letters import letter_corpus, read_letters
from handwriting.pixels import words_to_images
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import Config

from .toy import fields_of, file_fields, image_of, text_of, word_fields, write

FILES = [("bead", 0), ("a", 2), ("cab", 0), ("decade", 1), ("ace", 2)]
PLACES = ["letter.data.gz", "letter.data", "ocr/letter.data.gz", "ocr/letter.data"]
REAL = [Path(os.environ["HOSEQ_CORPORA"]) / place for place in PLACES] if os.environ.get("HOSEQ_CORPORA") else []


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("xx")


def names_of(words):
    return [("".join(name for _, name in letters), fold) for letters, fold in words]


def texts_of(examples):
    return ["".join(token.tag_ for token in eg.reference) for eg in examples]


def assert_refused(path, line, problem):
    """The message has the file, the number of the line and what was expected."""
    with pytest.raises(ValueError, match="Cannot read line") as error:
        list(read_letters(path))
    assert str(error.value) == f"Cannot read line {line} of {path}: {problem}."


@pytest.mark.parametrize("end", ["\t\n", "\n", "\t\r\n", "\r\n", "\t\t\n"])
@pytest.mark.parametrize("name", ["letter.data", "letter.data.gz"])
def test_words_letters_and_folds(name, end, tmp_path):
    path = write(tmp_path / name, file_fields(FILES, noise=0.1), end)
    for given in (path, str(path)):
        words = list(read_letters(given))
        assert names_of(words) == FILES
        for i, (letters, _) in enumerate(words):
            images = words_to_images([image for image, _ in letters])
            for position, (image, (_, name)) in enumerate(zip(images, letters, strict=True)):
                assert np.array_equal(image, image_of(name, 1000 * (i + 1) + position, 0.1))


def test_gzipped_is_told_by_the_name(tmp_path):
    path = tmp_path / "letter.data.gz"
    path.write_bytes(text_of(file_fields(FILES)).encode())
    with pytest.raises(OSError, match="gzip"):
        list(read_letters(path))


def test_last_line_without_its_end(tmp_path):
    path = tmp_path / "letter.data"
    path.write_text(text_of(file_fields(FILES), "\n")[:-1])
    assert names_of(read_letters(path)) == FILES


def test_blank_lines(tmp_path):
    lines = text_of(file_fields(FILES), "\n").splitlines(keepends=True)
    path = tmp_path / "letter.data"
    path.write_text("\n \n" + "\n".join(lines) + "\t\t\n\n")
    assert names_of(read_letters(path)) == FILES


def test_files_without_words(tmp_path):
    for text in ("", "\n\n"):
        (tmp_path / "letter.data").write_text(text)
        assert list(read_letters(tmp_path / "letter.data")) == []


def test_letters_of_any_script(tmp_path):
    rows = [fields_of("é", next_id=2, fold=9), fields_of("木", position=2, fold=9)]
    assert names_of(read_letters(write(tmp_path / "letter.data", rows))) == [("é木", 9)]


def changed(**fields):
    """The second line of a word with other fields, by number."""
    rows = word_fields("cab")
    for number, value in fields.items():
        rows[1][int(number[1:])] = value
    return rows[1]


EXPECTED = "expected 6 fields and 128 pixels separated by tabs, got {} fields"
BAD_LINES = {
    "a pixel less": (changed()[:-1], EXPECTED.format(133)),
    "a pixel more": ([*changed(), "0"], EXPECTED.format(135)),
    "no pixels": (changed()[:6], EXPECTED.format(6)),
    "text": (["abc"], EXPECTED.format(1)),
    "spaces": ([" ".join(changed())], EXPECTED.format(1)),
    "no letter": (changed(_1=""), "the letter is missing"),
    "fold of letters": (changed(_5="x"), 'the fold must be a number, got "x"'),
    "negative fold": (changed(_5="-1"), 'the fold must be a number, got "-1"'),
    "no fold": (changed(_5=""), 'the fold must be a number, got ""'),
    "position before": (changed(_4="1"), 'expected position 2 in the word, got "1"'),
    "position after": (changed(_4="3"), 'expected position 2 in the word, got "3"'),
    "no position": (changed(_4=""), 'expected position 2 in the word, got ""'),
    "grey pixel": (changed(_133="2"), 'pixels must be 0 or 1, got "2"'),
    "first pixel": (changed(_6="0.5"), 'pixels must be 0 or 1, got "0.5"'),
    "no pixel": (changed(_70=""), 'pixels must be 0 or 1, got ""'),
    "superscript fold": (changed(_5="\u00b2"), 'the fold must be a number, got "\u00b2"'),
    "next letter unclear": (changed(_2="junk"), 'the next letter\'s id must be a number, got "junk"'),
    "another fold": (changed(_3="2", _5="7"), "the fold changes from 0 to 7 within a word"),
    "another word": (changed(_3="9"), "the word changes from 2 to 9 within a word"),
    "two digits": (changed(_70="01"), 'pixels must be 0 or 1, got "01"'),
}


@pytest.mark.parametrize("name", ["letter.data", "letter.data.gz"])
@pytest.mark.parametrize("fields, problem", BAD_LINES.values(), ids=BAD_LINES)
def test_lines_that_cannot_be_read(fields, problem, name, tmp_path):
    rows = file_fields([("bead", 0)]) + word_fields("cab", first=5, word=2)
    rows[5] = fields
    assert_refused(write(tmp_path / name, rows), 6, problem)
    rows.insert(2, [""])
    assert_refused(write(tmp_path / name, rows), 7, problem)  # blank lines count


def test_words_before_a_bad_line_are_read(tmp_path):
    path = write(tmp_path / "letter.data", [*file_fields([("bead", 3)]), ["x"]])
    words = read_letters(path)
    assert names_of([next(words)]) == [("bead", 3)]
    with pytest.raises(ValueError, match="line 5 of"):
        next(words)


def test_word_that_begins_in_the_middle(tmp_path):
    path = write(tmp_path / "letter.data", word_fields("bead")[1:])
    assert_refused(path, 1, 'expected position 1 in the word, got "2"')


def test_word_without_its_end(tmp_path):
    path = write(tmp_path / "letter.data", word_fields("bea")[:2] + word_fields("cab", word=2))
    assert_refused(path, 3, 'expected position 3 in the word, got "1"')


@pytest.mark.parametrize("n_lines", [1, 3, 5])
def test_file_that_ends_within_a_word(n_lines, tmp_path):
    path = write(tmp_path / "letter.data", file_fields([("a", 0), ("added", 0)])[: n_lines + 1])
    if n_lines == 5:
        assert names_of(read_letters(path)) == [("a", 0), ("added", 0)]
    else:
        assert_refused(path, n_lines + 1, "the file ends within a word")


def test_docs(nlp, tmp_path):
    examples = list(letter_corpus(write(tmp_path / "letter.data", file_fields(FILES)))(nlp))
    assert texts_of(examples) == [text for text, _ in FILES]
    for eg, (text, _) in zip(examples, FILES, strict=True):
        assert isinstance(eg, Example) and eg.x.vocab is eg.y.vocab is nlp.vocab
        assert [token.tag_ for token in eg.predicted] == [""] * len(text)
        assert [token.text for token in eg.predicted] == [token.text for token in eg.reference]
        images = words_to_images([token.text for token in eg.predicted])
        assert np.array_equal(images, np.array([image_of(letter) for letter in text], np.float32))
        assert eg.predicted.text == "".join(token.text for token in eg.predicted), "no spaces"
        assert eg.get_aligned("TAG", as_string=True) == list(text)


@pytest.mark.parametrize(
    "folds, texts",
    [
        (None, ["bead", "a", "cab", "decade", "ace"]),
        ([0], ["bead", "cab"]),
        ([2, 1], ["a", "decade", "ace"]),
        ([1, 7], ["decade"]),
        ([0, 1, 2], ["bead", "a", "cab", "decade", "ace"]),
    ],
)
@pytest.mark.parametrize("name", ["letter.data", "letter.data.gz"])
def test_folds(name, folds, texts, nlp, tmp_path):
    path = write(tmp_path / name, file_fields(FILES))
    for given in (path, str(path)):
        read = letter_corpus(given, folds)
        assert texts_of(read(nlp)) == texts
        assert texts_of(read(nlp)) == texts, "once in each epoch"


@pytest.mark.parametrize("folds", [[3], [7, 9], [-1], []])
def test_folds_that_the_file_does_not_have(folds, nlp, tmp_path):
    path = write(tmp_path / "letter.data", file_fields(FILES))
    read = letter_corpus(path, folds)
    with pytest.raises(ValueError) as error:
        list(read(nlp))
    assert str(error.value).startswith(f"There are no words in the folds {folds} of {path}. Give folds")


def test_file_without_words(nlp, tmp_path):
    (tmp_path / "letter.data").write_text("\n")
    with pytest.raises(ValueError, match=r"There are no words in any fold of .*letter\.data\. Give folds"):
        list(letter_corpus(tmp_path / "letter.data")(nlp))


def test_bad_lines_are_found_in_all_folds(nlp, tmp_path):
    path = write(tmp_path / "letter.data", [*file_fields([("bead", 0)]), changed(_4="1", _5="1", _6="x")])
    with pytest.raises(ValueError, match=r"Cannot read line 5 .*pixels must be 0 or 1, got \"x\""):
        list(letter_corpus(path, [0])(nlp))


def test_no_path(nlp, tmp_path):
    with pytest.raises(ValueError, match="E913"):
        letter_corpus(None)
    read = letter_corpus(tmp_path / "nothing.data")
    with pytest.raises(FileNotFoundError, match=r"nothing\.data"):
        next(read(nlp))


CONFIG = """
[paths]
letters = null

[corpora]

[corpora.train]
@readers = "spacy_hoseq.letter_corpus.v1"
path = ${paths.letters}
folds = [0,1]

[corpora.dev]
@readers = "spacy_hoseq.letter_corpus.v1"
path = ${paths.letters}
"""


def test_reader_of_a_config(nlp, tmp_path):
    path = write(tmp_path / "letter.data", file_fields(FILES))
    config = Config().from_str(CONFIG, overrides={"paths.letters": str(path)})
    corpora = spacy.registry.resolve(config)["corpora"]
    assert texts_of(corpora["train"](nlp)) == ["bead", "cab", "decade"]
    assert texts_of(corpora["dev"](nlp)) == [text for text, _ in FILES]
    assert spacy.registry.get("readers", "spacy_hoseq.letter_corpus.v1") is letter_corpus
    with pytest.raises(ValueError, match="E913"):
        spacy.registry.resolve(Config().from_str(CONFIG))


def test_toy_writes_what_the_format_says(tmp_path):
    """The tests above would pass for ever if both sides made the same mistake."""
    path = write(tmp_path / "letter.data.gz", word_fields("be", first=7, word=3, fold=4))
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    first, second = lines[0].split("\t"), lines[1].split("\t")
    assert first[:6] == ["7", "b", "8", "3", "1", "4"] and second[:6] == ["8", "e", "-1", "3", "2", "4"]
    assert len(first) == len(second) == 6 + 128 + 1 and first[-1] == "" and lines[2:] == [""]
    pixel = {f"p_{row}_{column}": first[6 + 8 * row + column] for row in range(16) for column in range(8)}
    assert all(pixel[f"p_{row}_{column}"] == str(int(image_of("b")[row, column])) for row, column in np.ndindex(16, 8))


@pytest.mark.long
@pytest.mark.skipif(not any(path.exists() for path in REAL), reason="HOSEQ_CORPORA names no folder with letter.data")
def test_real_letters():
    path = next(path for path in REAL if path.exists())
    words = list(read_letters(path))
    n_words = np.bincount([fold for _, fold in words])
    assert len(words) == 3405 and sum(len(letters) for letters, _ in words) == 25725
    assert n_words.tolist() == [626, 704, 684, 698, 693]
    letters = {name for letters, _ in words for _, name in letters}
    assert letters == set("abcdefghijklmnopqrstuvwxyz")
    nlp = spacy.blank("xx")
    docs = [eg.reference for eg in letter_corpus(path, [3])(nlp)]
    assert len(docs) == 698 and isinstance(docs[0], Doc)


def test_letter_that_is_not_utf_8(tmp_path):
    path = write(tmp_path / "letter.data", word_fields("bead"))
    path.write_bytes(path.read_bytes().replace(b"\ta\t", b"\t\xe9\t"))
    assert_refused(path, 3, "the letter is not UTF-8")
