"""Images as words: each character against the names that Unicode gives to the Braille patterns, dot by dot."""

import unicodedata

import numpy as np
import spacy
from handwriting.pixels import image_to_word, pixel_templates
from spacy.tokens import Doc

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import Part, parse_templates

from ...features.test_extract import hash_string, plain_mix

DOTS = {
    (0, 0): 1,
    (1, 0): 2,
    (2, 0): 3,
    (3, 0): 7,
    (0, 1): 4,
    (1, 1): 5,
    (2, 1): 6,
    (3, 1): 8,
}  # (row, column)
BLANK = unicodedata.lookup("BRAILLE PATTERN BLANK")
VOCAB = spacy.blank("xx").vocab


def plain_word(pixels):
    """16 characters, four to a row, by their names."""
    word = ""
    for top in range(0, 16, 4):
        for left in range(0, 8, 2):
            dots = sorted(
                dot for (row, column), dot in DOTS.items() if pixels[top + row][left + column]
            )
            name = "DOTS-" + "".join(map(str, dots)) if dots else "BLANK"
            word += unicodedata.lookup(f"BRAILLE PATTERN {name}")
    return word


def random_images(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, 16, 8)) < rng.random(n)[:, None, None]


def keys_of(texts, words):
    """(template, word) keys."""
    return FeatureExtractor(parse_templates(texts)).keys([Doc(VOCAB, words=words)] if words else [])


def test_all_characters_are_made():
    seen = set()
    for number in range(256):
        pixels = np.zeros((16, 8), bool)
        for bit, place in enumerate(DOTS):
            pixels[place] = number >> bit & 1
        seen.add(image_to_word(pixels)[0])
        assert image_to_word(pixels) == plain_word(pixels)
    assert seen == {chr(code) for code in range(0x2800, 0x2900)}


def test_pixel_attributes():
    """`pixelN` is 1 at black pixels, row by row, and no feature at all others."""
    images = random_images(6, seed=1)
    found = keys_of(["pixel0..127[0]"], [image_to_word(image) for image in images])
    black = images.reshape(6, 128).T
    keys = [
        [plain_mix(hash_string(f"pixel{i}[0]"), 1) if is_black else 0 for is_black in black[i]]
        for i in range(128)
    ]
    assert found.tolist() == keys
    assert 0 < black.sum() < black.size


def test_template_set():
    templates = parse_templates(pixel_templates())
    assert str(templates[0]) == "bias"
    assert [t.parts for t in templates[1:129]] == [(Part(f"pixel{i}", 0),) for i in range(128)]
    places = {f"pixel{8 * row + column}": (row, column) for row in range(16) for column in range(8)}
    pairs = []
    for template in templates[129:]:
        assert [part.offset for part in template.parts] == [0, 0]
        pairs.append(tuple(places[part.attribute] for part in template.parts))
    beside = {((r, c), (r, c + 1)) for r in range(16) for c in range(7)}
    above = {((r, c), (r + 1, c)) for r in range(15) for c in range(8)}
    assert len(pairs) == 232 and set(pairs) == beside | above
    assert len(templates) == 1 + 128 + 232
