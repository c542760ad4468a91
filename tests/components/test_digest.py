"""The digest of a saved component."""

import hashlib
import json

import pytest
import spacy
import srsly

from spacy_hoseq.components.base import signed

from . import bidirectional_helpers as bidirectional
from .helpers import blank, ready, tagger_of

MODEL = srsly.msgpack_dumps({"nodes": [1], "shims": [[]], "params": []})
MEANING = {"labels": ["A", "é"], "tables": {}}


def test_digest_by_its_definition():
    data = signed(MODEL, MEANING)
    message = srsly.msgpack_loads(data)
    assert [*message] == ["nodes", "shims", "params", "digest"] and len(data) == len(MODEL) + 9 + 32
    meaning = json.dumps(MEANING, sort_keys=True).encode("ascii")
    assert message.pop("digest") == hashlib.sha256(meaning + data[:-32]).digest()
    assert message == srsly.msgpack_loads(MODEL)
    assert signed(MODEL, dict(reversed(MEANING.items()))) == data
    assert signed(MODEL, {**MEANING, "labels": ["é", "A"]}) != data


def test_every_bit_counts():
    pipe = tagger_of(ready())
    data = signed(pipe.model.to_bytes(), pipe._meaning())
    fresh = tagger_of(blank())
    fresh.from_bytes(pipe.to_bytes(exclude=["vocab"]))
    fresh._read_model(data)
    for i in [*range(9), *range(9, len(data) - 9, len(data) // 50), *range(len(data) - 50, len(data))]:
        with pytest.raises(ValueError, match="damaged"):
            fresh._read_model(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
        with pytest.raises((ValueError, IndexError)):
            fresh._read_model(data[:i])


def test_model_whose_digest_was_taken_away(tmp_path):
    tagger_of(ready()).to_disk(tmp_path, exclude=["vocab"])
    (tmp_path / "model").write_bytes(tagger_of(ready()).model.to_bytes())
    with pytest.raises(ValueError, match=r"\[HS064\].*not of one training"):
        tagger_of(blank()).from_disk(tmp_path, exclude=["vocab"])


def test_another_representation_of_the_bidirectional_tagger(tmp_path):
    """The same names of tags."""
    bidirectional.chunker("iob2", n_updates=1).to_disk(tmp_path)
    with pytest.raises(ValueError, match=r"\[HS064\].*not of one training"):
        spacy.load(tmp_path, config={"components.hoseq_bidirectional_tagger.representation": "iob1"})
