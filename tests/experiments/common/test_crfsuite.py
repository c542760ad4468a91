"""CRFsuite with the same templates as a tagger, on made-up corpora."""


import pytest
import srsly
from spacy.tokens import Doc
from spacy.util import registry

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import parse_templates

from ...repository import call, config_of, script, tagged_file

DEV = ["茶/NN 桥/NN 香/JJ | 香/VV 桥/VV 。/PU"]


def templates():
    """Of a Chinese tagger that has no dictionary."""
    return parse_templates(registry.misc.get("spacy_hoseq.templates.v1")("chinese_pos"))


def test_crfsuite_sees_the_keys_of_the_templates(tmp_path):
    """A token's features are the keys of the templates that fire there, in a sentence of its own."""
    crfsuite, corpus = script("common/crfsuite"), tagged_file(tmp_path / "c.spacy", *DEV, "苏州城/NR 好/VA 。/PU")
    sentences = crfsuite.read(corpus, crfsuite.vocab_of(corpus, None))
    assert [([t.text for t in doc], tags) for doc, tags in sentences] == [
        (["茶", "桥", "香"], ["NN", "NN", "JJ"]),
        (["香", "桥", "。"], ["VV", "VV", "PU"]),
        (["苏州城", "好", "。"], ["NR", "VA", "PU"]),
    ]
    extractor = FeatureExtractor(templates())
    found = crfsuite.features_of(extractor, sentences)
    assert [len(sentence) for sentence in found] == [3, 3, 3]
    docs = [Doc(doc.vocab, words=[t.text for t in doc]) for doc, _ in sentences]
    keys = extractor.keys(docs)  # (K, N), all sentences together
    flat = [token for sentence in found for token in sentence]
    for n, token in enumerate(flat):
        assert [int(key, 16) for key in token] == [int(key) for key in keys[:, n] if key]
    assert len({len(token) for token in flat}) > 1, "not all templates fire everywhere"
    assert not (keys[:, 0] == keys[:, 3]).all() and "0" not in flat[0]


def test_crfsuite_is_measured(tmp_path):
    pytest.importorskip("pycrfsuite")
    train = tagged_file(tmp_path / "train.spacy", *["茶/NN 很/AD 香/VA 。/PU", "桥/NN 很/AD 长/VA 。/PU"] * 5)
    texts = ["茶/NN 很/AD 长/VA 。/PU | 桥/VV 很/AD 香/VA 。/PU", "海/NN 很/VV 长/VA"]
    test = tagged_file(tmp_path / "test.spacy", *texts)
    output, config = tmp_path / "new" / "crfsuite", tmp_path / "config.cfg"
    config_of("tagger/zh").to_disk(config)
    code, printed = call(script("common/crfsuite"), config, train, test, output)
    assert code == 0 and "CRFsuite: 81.82% of 11 tokens" in printed
    found = srsly.read_json(output / "report.json")
    (layer,) = found["layers"]
    assert layer["right"] == "1111" + "0111" + "101" and layer["counts"] == [[4, 4, 4], [3, 4, 4], [2, 3, 3]]
    assert layer["scores"]["accuracy"] == {"value": pytest.approx(9 / 11), "n": 11}
    assert layer["scores"]["unknown words"] == {"value": 1.0, "n": 1}
    assert found["tokens_per_second"] > 0 and found["training_seconds"] > 0 and found["bytes"] > 1000
