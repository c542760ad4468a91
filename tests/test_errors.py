"""Every message has a code that the library uses and that some test provokes."""

import re
from pathlib import Path

import spacy_hoseq
from spacy_hoseq.errors import Errors, Warnings

PACKAGE = Path(spacy_hoseq.__file__).parent
TESTS = Path(__file__).parent


def text_of(folder, *without):
    paths = [path for path in sorted(folder.rglob("*.py")) if path.name not in without]
    return "\n".join(path.read_text("utf8") for path in paths)


LIBRARY = text_of(PACKAGE, "errors.py")
SUITE = text_of(TESTS, "test_errors.py")
NAMES = {*dir(Errors), *dir(Warnings)}
CODES = sorted(name for name in NAMES if re.fullmatch(r"H[SW]\d{3}", name))


def groups_of_code(code):
    return Warnings if code.startswith("HW") else Errors


def test_there_are_codes():
    assert len(CODES) > 30 and "HS010" in CODES and "HW001" in CODES


def test_every_code_is_used():
    given = set(re.findall(r"\b(?:Errors|Warnings)\.H[SW]\d{3}\b", text_of(PACKAGE)))
    assert not {code for code in CODES if f"{groups_of_code(code).__name__}.{code}" not in given}


def test_every_code_is_tested():
    assert not set(CODES) - set(re.findall(r"H[SW]\d{3}", SUITE)), "no test provokes these"


def test_no_code_is_used_that_does_not_exist():
    used = set(re.findall(r"\b(?:Errors|Warnings)\.(H[SW]\d{3})\b", LIBRARY))
    assert used and used <= set(CODES)
    documented = set(re.findall(r"\[?(H[SW]\d{3})\b", LIBRARY))
    assert documented <= set(CODES), "docstrings name existing codes only"


def test_messages_begin_with_their_codes_and_are_whole_sentences():
    messages = {code: getattr(groups_of_code(code), code) for code in CODES}
    assert not {code for code, message in messages.items() if not message.startswith(f"[{code}] ")}
    ends = {code: message.rstrip()[-1] for code, message in messages.items()}
    assert not {code for code, end in ends.items() if end not in ".]"}


def test_no_message_is_raised_without_a_code():
    """Errors are raised with texts of errors.py, or of spaCy's own."""
    bare = re.findall(r"raise [A-Z]\w*\(\s*f?[\"'](.*)[\"']\)", LIBRARY)
    inside = {
        "format {saved['format']}",  # within HS050, as the next one
        "more rows than the table has",
        "NaN or infinite values",
        "the weights are of other labels, or of these in another order",  # within HS064, as the next one
        "{width} columns of weights, but {len(self.labels)} labels",
        'an attribute and an offset, such as "lower[0]" or "suffix1..3[-1..1]"',  # within HS010, as the next two
        '"[" (only {", ".join(numbered_names())} take a number)',
        "a range from {known[0]} to {known[-1]}, smaller number first",
        'the column "{options.text}" has the type {kind}',  # within HS162 or HS172, as the next one
        "a text of {MAX_LINE_BYTES:,} bytes or more",
        "it was sent on to {response.url}",  # within HS192, as the next three
        "it is larger than {MAX_BYTES:,} bytes",
        "{path.name} is larger than {MAX_BYTES:,} bytes",
        "the archive has no .conllu file",
        '"{options.text}" is not once among the columns {", ".join(names)}',
    }
    assert set(bare) <= inside, "what no user can meet"


def test_every_code_has_one_message():
    text = (PACKAGE / "errors.py").read_text("utf8")
    assert sorted(re.findall(r"^    (H[SW]\d{3}) =", text, flags=re.MULTILINE)) == CODES
