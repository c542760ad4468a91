"""CRFsuite with the same templates as a tagger, on made-up corpora."""

import pytest
import srsly
from spacy.util import registry

from spacy_hoseq.features.templates import parse_templates

from ...repository import call, config_of, script, tagged_file


def templates():
    """Of a Chinese tagger that has no dictionary."""
    return parse_templates(registry.misc.get("spacy_hoseq.templates.v1")("chinese_pos"))


def test_crfsuite_is_measured(tmp_path):
    pytest.importorskip("pycrfsuite")
    train = tagged_file(
        tmp_path / "train.spacy", *["茶/NN 很/AD 香/VA 。/PU", "桥/NN 很/AD 长/VA 。/PU"] * 5
    )
    texts = ["茶/NN 很/AD 长/VA 。/PU | 桥/VV 很/AD 香/VA 。/PU", "海/NN 很/VV 长/VA"]
    test = tagged_file(tmp_path / "test.spacy", *texts)
    output, config = tmp_path / "new" / "crfsuite", tmp_path / "config.cfg"
    config_of("tagger/zh").to_disk(config)
    code, printed = call(script("common/crfsuite"), config, train, test, output)
    assert code == 0 and "CRFsuite: 81.82% of 11 tokens" in printed
    found = srsly.read_json(output / "report.json")
    (layer,) = found["layers"]
    assert layer["right"] == "1111" + "0111" + "101" and layer["counts"] == [
        [4, 4, 4],
        [3, 4, 4],
        [2, 3, 3],
    ]
    assert layer["scores"]["accuracy"] == {"value": pytest.approx(9 / 11), "n": 11}
    assert layer["scores"]["unknown words"] == {"value": 1.0, "n": 1}
    assert (
        found["tokens_per_second"] > 0 and found["training_seconds"] > 0 and found["bytes"] > 1000
    )
