"""Images as words: each character against the names that Unicode gives to the Braille patterns, dot by dot."""

import unicodedata

import numpy as np
import pytest
import spacy
from handwriting.pixels import image_to_word, is_image, pixel_templates, words_to_images
from spacy.tokens import Doc

from spacy_hoseq.features.attributes import check_attribute, lexical_attribute
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import Part, parse_templates

from ...features.test_extract import hash_string, plain_mix
from ...features.values import value_of

DOTS = {(0, 0): 1, (1, 0): 2, (2, 0): 3, (3, 0): 7, (0, 1): 4, (1, 1): 5, (2, 1): 6, (3, 1): 8}  # (row, column)
BLANK = unicodedata.lookup("BRAILLE PATTERN BLANK")
VOCAB = spacy.blank("xx").vocab


def plain_word(pixels):
    """16 characters, four to a row, by their names."""
    word = ""
    for top in range(0, 16, 4):
        for left in range(0, 8, 2):
            dots = sorted(dot for (row, column), dot in DOTS.items() if pixels[top + row][left + column])
            name = "DOTS-" + "".join(map(str, dots)) if dots else "BLANK"
            word += unicodedata.lookup(f"BRAILLE PATTERN {name}")
    return word


def random_images(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, 16, 8)) < rng.random(n)[:, None, None]


def keys_of(texts, words):
    """(template, word) keys."""
    return FeatureExtractor(parse_templates(texts)).keys([Doc(VOCAB, words=words)] if words else [])


def test_every_pixel_alone():
    for row in range(16):
        for column in range(8):
            pixels = np.zeros((16, 8), bool)
            pixels[row, column] = True
            word = image_to_word(pixels)
            assert word == plain_word(pixels), (row, column)
            assert word.count(BLANK) == 15 and word[4 * (row // 4) + column // 2] != BLANK
            assert np.array_equal(words_to_images([word])[0], pixels)


def test_all_characters_are_made():
    seen = set()
    for number in range(256):
        pixels = np.zeros((16, 8), bool)
        for bit, place in enumerate(DOTS):
            pixels[place] = number >> bit & 1
        seen.add(image_to_word(pixels)[0])
        assert image_to_word(pixels) == plain_word(pixels)
    assert seen == {chr(code) for code in range(0x2800, 0x2900)}


def test_there_and_back():
    images = random_images(40)
    words = [image_to_word(image) for image in images]
    assert words == [plain_word(image) for image in images]
    found = words_to_images(words)
    assert found.shape == (40, 16, 8) and found.dtype == np.float32
    assert np.array_equal(found, images.astype(np.float32))
    assert len(set(words)) == 40


def test_blank_and_black():
    assert image_to_word(np.zeros((16, 8))) == BLANK * 16
    assert image_to_word(np.ones((16, 8))) == unicodedata.lookup("BRAILLE PATTERN DOTS-12345678") * 16
    assert words_to_images([]).shape == (0, 16, 8)


@pytest.mark.parametrize("dtype", [int, np.uint8, np.float32, bool])
def test_black_is_what_is_not_zero(dtype):
    pixels = random_images(1, seed=3)[0]
    assert image_to_word(pixels.astype(dtype)) == plain_word(pixels)
    assert image_to_word(pixels.astype(int) * 255) == image_to_word(pixels.tolist()) == plain_word(pixels)
    assert image_to_word(pixels.astype(float) * -0.5) == plain_word(pixels)


@pytest.mark.parametrize("shape", [(8, 8), (16, 16), (127,)])
def test_images_of_another_size(shape):
    with pytest.raises(ValueError, match="reshape"):
        image_to_word(np.zeros(shape))


NO_IMAGES = ["", "a", "a" * 16, BLANK * 15, BLANK * 17, BLANK * 15 + "a", "\u27ff" + BLANK * 15, BLANK * 15 + "\u2900"]


def test_what_is_an_image():
    assert is_image(BLANK * 16) and is_image("\u28ff" * 16)
    assert all(is_image(image_to_word(image)) for image in random_images(5))
    assert [word for word in NO_IMAGES if is_image(word)] == []
    assert not is_image(BLANK * 8 + "\U00012800" * 8)


def test_pixel_attributes():
    """`pixelN` is 1 at black pixels, row by row, and no feature at all others."""
    images = random_images(6, seed=1)
    found = keys_of(["pixel0..127[0]"], [image_to_word(image) for image in images])
    black = images.reshape(6, 128).T
    keys = [[plain_mix(hash_string(f"pixel{i}[0]"), 1) if is_black else 0 for is_black in black[i]] for i in range(128)]
    assert found.tolist() == keys
    assert 0 < black.sum() < black.size


@pytest.mark.parametrize("number", [0, 7, 8, 63, 127])
def test_value_of_a_pixel(number):
    def attribute(lexeme):
        return value_of(f"pixel{number}", lexeme)

    images = random_images(8, seed=2)
    for order in (images, images[::-1]):  # words follow each other in any order
        values = [attribute(VOCAB[image_to_word(image)]) for image in order]
        assert values == [int(image[number // 8, number % 8]) for image in order]
    assert {attribute(VOCAB[image_to_word(image)]) for image in (np.zeros((16, 8)), np.ones((16, 8)))} == {0, 1}


def test_conjunctions_of_pixels():
    texts = ["pixel3[0]+pixel4[0]", "pixel9[0]+pixel100[1]", "bias+pixel64[-1]", "pixel5[0]+length[0]"]
    images = random_images(30, seed=4)
    fires = keys_of(texts, [image_to_word(image) for image in images]) != 0
    p = images.reshape(30, 128)
    after, before = np.append(p[1:, 100], True), np.append(True, p[:-1, 64])  # beyond the ends all attributes have one
    assert fires.tolist() == np.array([p[:, 3] & p[:, 4], p[:, 9] & after, before, p[:, 5]]).tolist()
    assert all(0 < row.sum() < 30 for row in fires)


def test_ordinary_words_have_no_pixels():
    words = [*filter(None, NO_IMAGES), "the", "\U00012800" * 16]
    assert not keys_of(["pixel0..127[0]"], words).any()
    mixed = keys_of(["pixel5[0]"], ["the", "\u28ff" * 16, "dog"])
    assert (mixed != 0).tolist() == [[False, True, False]]


@pytest.mark.parametrize("name", ["pixel128", "pixel1000", "pixel", "pixels", "pixel-1"])
def test_pixels_that_are_not_there(name):
    assert lexical_attribute(name) is None
    with pytest.raises(ValueError, match=rf"\[HS013\].*\"{name}\".*pixelN"):
        check_attribute(name)


def test_pixel_without_number():
    with pytest.raises(ValueError, match=r"\[HS013\].*\"pixel\""):
        FeatureExtractor(parse_templates(["pixel[0]"]))
    with pytest.raises(ValueError, match=r"(?s)\[HS010\].* at character \d; .*a range from 0 to 127"):
        parse_templates(["pixel128[0]"])


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


def test_template_set_of_a_config():
    text = '[templates]\n@misc = "spacy_hoseq.pixel_templates.v1"'
    found = spacy.registry.resolve(spacy.util.Config().from_str(text))["templates"]
    assert found == pixel_templates()
    extractor = FeatureExtractor(parse_templates(found))
    assert extractor.is_lexical
    word = image_to_word(np.eye(16, 8))
    assert (extractor.keys([Doc(VOCAB, words=[word])]) != 0).sum() == 1 + 8, "no two pixels of a diagonal are a pair"
