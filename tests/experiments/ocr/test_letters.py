"""The letter.data format: what is read from files of invented images, and what each damaged line is told."""

import numpy as np
import pytest
from handwriting.letters import read_letters
from handwriting.pixels import words_to_images

from .toy import fields_of, file_fields, image_of, word_fields, write

FILES = [("bead", 0), ("a", 2), ("cab", 0), ("decade", 1), ("ace", 2)]


def names_of(words):
    return [("".join(name for _, name in letters), fold) for letters, fold in words]


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
    "next letter unclear": (
        changed(_2="junk"),
        'the next letter\'s id must be a number, got "junk"',
    ),
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
