"""The digest of a saved component, and components that were saved without one."""

import hashlib
import json

import pytest
import spacy
import srsly

from spacy_hoseq.components.digest import belongs, has_digest, is_older, with_digest

from . import bidirectional_helpers as bidirectional
from .helpers import blank, gold, predicted, ready, tagger_of
from .saved import DATA, NAMES, components, pipelines

MODEL = srsly.msgpack_dumps({"nodes": [1], "shims": [[]], "params": []})
MEANING = {"labels": ["A", "é"], "tags": ["A", "é"]}


def test_digest_by_its_definition():
    data = with_digest(MODEL, MEANING)
    message = srsly.msgpack_loads(data)
    assert [*message] == ["nodes", "shims", "params", "digest"] and len(data) == len(MODEL) + 9 + 32
    meaning = json.dumps(MEANING, sort_keys=True).encode("ascii")
    assert message.pop("digest") == hashlib.sha256(meaning + data[:-32]).digest()
    assert message == srsly.msgpack_loads(MODEL)


def test_what_belongs_to_a_digest():
    data = with_digest(MODEL, MEANING)
    assert belongs(data, MEANING) and belongs(data, dict(reversed(MEANING.items())))
    assert not belongs(data, {**MEANING, "labels": ["é", "A"]}) and not belongs(data, {})
    assert not any(belongs(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :], MEANING) for i in range(len(data)))
    assert not any(belongs(data[:i], MEANING) for i in range(len(data)))


def test_models_without_digest():
    assert not has_digest(MODEL) and not belongs(MODEL, MEANING)
    for version, older in ((None, True), (2, True), (3, False)):
        layer = {"layer": "x"} if version is None else {"format": version}
        assert is_older(srsly.msgpack_dumps({"shims": [[srsly.msgpack_dumps(layer)], []]})) == older


@pytest.mark.long
@pytest.mark.parametrize("folder", ["format_1", "format_2"])
@pytest.mark.parametrize("name", NAMES)
def test_components_of_earlier_versions_are_loaded_with_a_warning(folder, name, tmp_path):
    pipe = components(pipelines("blank"))[name]
    with pytest.warns(UserWarning, match=rf"\[HW007\].*\"{pipe.name}\".*{folder}.*to_disk") as caught:
        pipe.from_disk(DATA / folder / name, exclude=["vocab"])
    assert len(caught) == 1
    data = pipe.to_bytes(exclude=["vocab"])
    pipe.from_bytes(data)  # warns no longer
    pipe.to_disk(tmp_path, exclude=["vocab"])
    pipe.from_disk(tmp_path, exclude=["vocab"])
    assert pipe.to_bytes(exclude=["vocab"]) == data and has_digest((tmp_path / "model").read_bytes())


def test_model_of_this_version_whose_digest_was_taken_away(tmp_path):
    tagger_of(ready()).to_disk(tmp_path, exclude=["vocab"])
    (tmp_path / "model").write_bytes(tagger_of(ready()).model.to_bytes())
    with pytest.raises(ValueError, match=r"\[HS064\].*damaged, not of one training"):
        tagger_of(blank()).from_disk(tmp_path, exclude=["vocab"])


def test_another_representation_of_the_bidirectional_tagger(tmp_path):
    """The same names of tags."""
    bidirectional.chunker("iob2", n_updates=1).to_disk(tmp_path)
    with pytest.raises(ValueError, match=r"\[HS064\].*not of one training"):
        spacy.load(tmp_path, config={"components.hoseq_bidirectional_tagger.representation": "iob1"})


def test_equal_components_have_equal_bytes():
    assert tagger_of(ready()).to_bytes() == tagger_of(ready()).to_bytes()


def test_pipeline_whose_vocabulary_is_another(tmp_path):
    """What is saved depends on nothing but the component."""
    nlp = blank()
    tagger_of(nlp).from_bytes(tagger_of(ready()).to_bytes(exclude=["vocab"]))
    assert tagger_of(nlp).to_bytes(exclude=["vocab"]) == tagger_of(ready()).to_bytes(exclude=["vocab"])
    assert predicted(nlp) == gold()


def test_bytes_with_parts_that_are_none():
    data = srsly.msgpack_loads(tagger_of(ready()).to_bytes(exclude=["vocab"]))
    data["modem"] = data.pop("model")
    with pytest.raises(ValueError, match=r"\[HS064\].*modem"):
        tagger_of(blank()).from_bytes(srsly.msgpack_dumps(data))
