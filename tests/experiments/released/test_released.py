"""What makes the released pipelines, and how they are measured from raw text, on made-up corpora."""

import pytest
import spacy
import srsly
from spacy.tokens import Doc

from ...repository import call, script, tagged_file
from ...segmentation.helpers import pipeline, saved_words


def docs(vocab):
    starts = [True, False, False, True, False]
    return [
        Doc(
            vocab,
            ["我们", "喝", "。", "iPhone", "X"],
            [False, False, False, True, False],
            sent_starts=starts,
        ),
        Doc(vocab, ["茶", "。"], [False, False], sent_starts=[True, False]),
    ]


def cut(words):
    """A pipeline that cuts any text into words of these lengths."""
    nlp = spacy.blank("zh")

    def tokenizer(text):
        made, at = [], 0
        for size in words:
            made.append(text[at : at + size])
            at += size
        return Doc(
            nlp.vocab, made, [False] * len(made), sent_starts=[True] + [False] * (len(made) - 1)
        )

    nlp.tokenizer = tokenizer
    return nlp


def test_words_and_sentences_are_aligned_by_characters():
    """我们|喝|。 is right but for 喝。 in one, and one sentence of three is there if all is one."""
    measure = script("released/measure_text")
    texts = measure.raw_texts(docs(spacy.blank("zh").vocab)[:1], 1, unspaced=True)
    found = measure.from_raw_text(cut([2, 2, 6, 1, 1]), texts, {"我们", "喝", "。", "X"})
    assert found["words"] == pytest.approx({"p": 3 / 4, "r": 3 / 5, "f": 6 / 9})
    assert found["sentences"] == {"p": 0, "r": 0, "f": 0}
    assert (found["unknown_words"], found["unknown_recall"]) == (1, 1)
    assert found["tags"]["r"] == 3 / 5, "no tags in both"


def test_finished_pipeline_is_the_same_again_without_its_words(tmp_path):
    nlp = pipeline(saved_words(tmp_path))
    text = "我们在学校喝茶。"
    expected = [token.text for token in nlp(text)]
    nlp.to_disk(tmp_path / "model")
    srsly.write_json(tmp_path / "meta.json", {"name": "tea", "license": "CC BY-SA 4.0"})
    made = []
    for name in ("one", "two"):
        status, _ = call(
            script("released/finish"), tmp_path / "model", tmp_path / "meta.json", tmp_path / name
        )
        assert status == 0
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        made.append(
            {path.relative_to(tmp_path / name).as_posix(): path.read_bytes() for path in files}
        )
    assert made[0] == made[1]
    loaded = spacy.load(tmp_path / "one")
    assert loaded.meta["name"] == "tea" and "学" not in loaded.tokenizer.segmenter.vocab.strings
    assert [token.text for token in loaded(text)] == expected


def test_new_words_are_those_that_training_has_not_seen(tmp_path):
    """Not those that the dev part has not: it has all of them."""
    train = tagged_file(tmp_path / "train.spacy", "the/D dog/N sees/V", "the/D cat/N runs/V")
    dev = tagged_file(tmp_path / "dev.spacy", "the/D dog/N | flies/V", "the/D zebra/N | sees/N")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    for words, tag in (
        (["the"], "D"),
        (["dog", "cat", "zebra"], "N"),
        (["sees", "runs"], "V"),
        (["flies"], "X"),
    ):
        ruler.add([[{"ORTH": word}] for word in words], {"TAG": tag})
    nlp.to_disk(tmp_path / "model")
    measure = script("released/measure_text")
    measure.calibration_errors = lambda *_: {}  # the ruler has no probabilities
    status, _ = call(measure, tmp_path / "model", train, dev, tmp_path / "found.json")
    assert status == 0
    found = srsly.read_json(tmp_path / "found.json")
    assert found["tokens"] == 6 and found["gold_words"]["tag"] == pytest.approx(4 / 6)
    assert found["gold_words"]["new_tag"] == pytest.approx(1 / 2), "of flies and zebra"
    assert found["unknown_words"] == 2
