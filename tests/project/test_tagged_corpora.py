"""Scripts that count and measure on tagged corpora, made up: statistics, rules, CRFsuite, accuracy."""

import json
import sys

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_config, registry

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.patterns.chinese_pos_rules import FOLDER

from .files import ROOT, call, script, tagged_docs, tagged_file

TRAIN = ["茶/NN 香/VV 茶/VV 。/PU", "茶/NN 。/PU"]
DEV = ["茶/NN 桥/NN 香/JJ | 香/VV 桥/VV 。/PU"]


def test_statistics_by_hand(tmp_path):
    """In training 茶 has two tags, 香 and 。 one each; 桥 is not there."""
    train, dev = tagged_file(tmp_path / "train.spacy", *TRAIN), tagged_file(tmp_path / "dev.spacy", *DEV)
    output = tmp_path / "new" / "statistics.json"
    code, printed = call(script("corpus_statistics"), output, train, f"dev={dev}", f"again={train}")
    found = srsly.read_json(output)
    in_train = {"tokens": 6, "word_types": 3, "tag_types": 3, "tags_per_word": 4 / 3, "unknown": 0, "ambiguous": 3}
    in_dev = {"tokens": 6, "word_types": 4, "tag_types": 4, "tags_per_word": 6 / 4, "unknown": 2, "ambiguous": 1}
    assert code == 0 and list(found) == ["train", "dev", "again"]
    assert found["train"] == found["again"] == pytest.approx(in_train) and found["dev"] == pytest.approx(in_dev)
    assert "train 6 3 3 1.3333 0 0.00% 3 50.00%" in printed
    assert "dev 6 4 4 1.5000 2 33.33% 1 16.67%" in printed


ANY_TWO = {"name": "any two", "tokens": [{}, {}], "labels": ["?x", "?x"]}
RULES = [
    {"name": "tea", "tokens": [{"ORTH": "茶"}, {}], "labels": ["NN", "*"]},
    {"name": "same", "tokens": [{}, {"LENGTH": 1}, {}], "labels": ["?y", ["VV", "CC"], "?y"], "note": "「"},
    ANY_TWO,
    {"name": "never", "tokens": [{"ORTH": "海"}, {}], "labels": ["NN", "NN"]},
]
SENTENCES = ["茶/NN 和/CC 茶/NN 香/VV", "茶/VV 茶/VV | 茶/VV 桥/NN"]


def test_rules_are_counted_within_sentences(tmp_path):
    """tea: NN CC, NN VV; VV VV, VV NN do not agree. same: NN CC NN agrees, CC NN VV does not. any two: VV VV only."""
    corpus, rules = tagged_file(tmp_path / "corpus.spacy", *SENTENCES), tmp_path / "rules.json"
    expected = [(2, 4), (1, 2), (1, 5), (0, 0)]
    assert script("count_rules").count(RULES, corpus) == expected
    text = json.dumps(RULES)
    rules.write_text(text, encoding="utf8")
    code, printed = call(script("count_rules"), rules, corpus)
    assert code == 0 and "tea 2 4 same 1 2 any two 1 5 never 0 0" in printed
    assert rules.read_text(encoding="utf8") == text, "nothing is written without --write"
    assert call(script("count_rules"), rules, corpus, "--write")[0] == 0
    written = rules.read_text(encoding="utf8")
    assert json.loads(written) == [{**rule, "count": list(n)} for rule, n in zip(RULES, expected, strict=True)]
    assert '  "note": "「",\n  "count": [1, 2]\n }' in written and written.endswith(" }\n]\n")
    call(script("count_rules"), rules, corpus, "--write")
    assert rules.read_text(encoding="utf8") == written


def test_rules_by_family(tmp_path):
    """Without the numbers at the end of their names; the first one's note and example stand for all."""
    more = {"note": "First", "example": "茶/NN"}
    rules = [{**rule, "name": name, **(more if name[-1] == "1" else {"note": "", "example": ""})}
             for rule, name in zip(RULES, ["tea 1", "two words 1", "tea 12", "tea 3"], strict=True)]  # fmt: skip
    corpus, path = tagged_file(tmp_path / "corpus.spacy", *SENTENCES), tmp_path / "rules.json"
    path.write_text(json.dumps(rules), encoding="utf8")
    code, printed = call(script("count_rules"), path, corpus, "--families")
    assert code == 0 and printed.endswith(
        "| tea | 3 | First | 茶/NN | 3 of 9 | | two words | 1 | First | 茶/NN | 1 of 2 |"
    )
    assert "| Family | Rules | What it says | Example | Agree, of all matches |" in printed


@pytest.mark.parametrize("tag_set", ["ctb", "ud"])
def test_rule_files_are_as_the_script_writes_them(tag_set):
    text = (FOLDER / f"chinese_pos_rules_{tag_set}.json").read_text(encoding="utf8")
    assert script("count_rules").one_key_a_line(json.loads(text)) == text


@pytest.mark.parametrize("labels, tags, expected", [
    (["NN", "*"], ["NN", "X"], True),
    (["NN", "*"], ["VV", "X"], False),
    ([["NN", "NR"], "?y", "?y"], ["NR", "X", "X"], True),
    ([["NN", "NR"], "?y", "?y"], ["VV", "X", "X"], False),
    (["?y", "?z", "?y"], ["A", "B", "A"], True),
    (["?y", "?z", "?y"], ["A", "A", "A"], True),
    (["?y", "?z", "?y"], ["A", "B", "B"], False),
])  # fmt: skip
def test_tags_agree_with_a_rule(labels, tags, expected):
    assert script("count_rules").agrees(labels, tags) is expected


def templates():
    """Of configs/zh_tagger.cfg."""
    emissions = load_config(ROOT / "configs" / "zh_tagger.cfg")["components"]["hoseq_tagger"]["model"]["emissions"]
    return parse_templates(registry.resolve({"templates": emissions["templates"]})["templates"])


def test_crfsuite_sees_the_keys_of_the_templates(tmp_path):
    """A token's features are the keys of the templates that fire there, in a sentence of its own."""
    crfsuite, corpus = script("crfsuite"), tagged_file(tmp_path / "c.spacy", *DEV, "苏州城/NR 好/VA 。/PU")
    sentences = crfsuite.read(corpus)
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
    output, config = tmp_path / "new" / "crfsuite.json", ROOT / "configs" / "zh_tagger.cfg"
    code, printed = call(script("crfsuite"), config, train, test, output)
    assert code == 0 and "CRFsuite: 81.82% of 11 tokens" in printed
    found = srsly.read_json(output)
    assert found["correct"] == "1111" + "0111" + "101" and found["tokens"] == 11
    assert found["accuracy"] == pytest.approx(9 / 11)
    assert (found["unknown_words"], found["unknown_accuracy"]) == (1, 1.0)
    assert found["tokens_per_second"] > 0 and found["training_seconds"] > 0 and found["model_bytes"] > 1000


def test_without_crfsuite_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    files = [tmp_path / name for name in ("no.cfg", "no.spacy", "no.spacy", "output.json")]
    code, printed = call(script("crfsuite"), *files)
    assert code == 0 and "python-crfsuite is not installed" in printed and not files[-1].exists()


@Language.component("test_tags_by_length")
def tags_by_length(doc):
    for token in doc:
        token.tag_ = "A" if len(token) == 1 else "B"
    return doc


def test_measured_accuracy_says_which_tokens_are_right():
    nlp = spacy.blank("xx")
    nlp.add_pipe("test_tags_by_length")
    gold = tagged_docs(["x/A yy/A z/B", "yy/B x/A", "www/B"], nlp.vocab)
    found = script("measure").accuracy(nlp, gold, {"x", "z"})
    assert found["correct"] == "100" + "11" + "1" and found["accuracy"] == pytest.approx(4 / 6)
    assert (found["unknown_words"], found["unknown_accuracy"]) == (3, pytest.approx(2 / 3))
    known = script("measure").accuracy(nlp, gold, {"x", "yy", "z", "www"})
    assert known == {"accuracy": found["accuracy"], "correct": "100111"}


def test_measured_accuracy_is_the_share_of_tokens_that_are_right():
    nlp = spacy.blank("xx")
    nlp.add_pipe("test_tags_by_length")
    gold = tagged_docs(["x/A yy/A z/ yy/B"], nlp.vocab)
    found = script("measure").accuracy(nlp, gold, {"x", "yy", "z"})
    assert found["accuracy"] == pytest.approx(2 / 3), "z has no gold tag"
    assert found["correct"].count("1") / len(found["correct"]) == pytest.approx(found["accuracy"])
