"""Statistics of tagged corpora, and how often rules match, on made-up ones."""

import json

import pytest

from spacy_hoseq.patterns.chinese import FOLDER

from ...repository import call, script, tagged_file

TRAIN = ["茶/NN 香/VV 茶/VV 。/PU", "茶/NN 。/PU"]
DEV = ["茶/NN 桥/NN 香/JJ | 香/VV 桥/VV 。/PU"]


def test_statistics_by_hand(tmp_path):
    """In training 茶 has two tags, 香 and 。 one each; 桥 is not there."""
    train, dev = (
        tagged_file(tmp_path / "train.spacy", *TRAIN),
        tagged_file(tmp_path / "dev.spacy", *DEV),
    )
    output = tmp_path / "new" / "statistics.md"
    code, printed = call(
        script("treebanks/corpus_statistics"), output, train, f"dev={dev}", f"again={train}"
    )
    assert code == 0
    rows = [
        line.split()
        for line in output.read_text(encoding="utf8").splitlines()
        if line.startswith("| ")
    ]
    in_train = ["6", "3", "3", "1.3333", "0", "0.00%", "3", "50.00%"]
    assert [[cell for cell in row if cell != "|"] for row in rows[2:]] == [
        ["train", *in_train],
        ["dev", "6", "4", "4", "1.5000", "2", "33.33%", "1", "16.67%"],
        ["again", *in_train],
    ]
    assert "train 6 3 3 1.3333 0 0.00% 3 50.00%" in printed
    assert "dev 6 4 4 1.5000 2 33.33% 1 16.67%" in printed


ANY_TWO = {"name": "any two", "tokens": [{}, {}], "labels": ["?x", "?x"]}
RULES = [
    {"name": "tea", "tokens": [{"ORTH": "茶"}, {}], "labels": ["NN", "*"]},
    {
        "name": "same",
        "tokens": [{}, {"LENGTH": 1}, {}],
        "labels": ["?y", ["VV", "CC"], "?y"],
        "note": "「",
    },
    ANY_TWO,
    {"name": "never", "tokens": [{"ORTH": "海"}, {}], "labels": ["NN", "NN"]},
]
SENTENCES = ["茶/NN 和/CC 茶/NN 香/VV", "茶/VV 茶/VV | 茶/VV 桥/NN"]


def test_rules_are_counted_within_sentences(tmp_path):
    """tea: NN CC, NN VV; VV VV, VV NN do not agree. same: NN CC NN agrees, CC NN VV does not. any two: VV VV only."""
    corpus, rules = tagged_file(tmp_path / "corpus.spacy", *SENTENCES), tmp_path / "rules.json"
    expected = [(2, 4), (1, 2), (1, 5), (0, 0)]
    assert script("treebanks/count_rules").count(RULES, corpus) == expected
    text = json.dumps(RULES)
    rules.write_text(text, encoding="utf8")
    code, printed = call(script("treebanks/count_rules"), rules, corpus)
    assert code == 0 and "tea 2 4 same 1 2 any two 1 5 never 0 0" in printed
    assert rules.read_text(encoding="utf8") == text, "nothing is written without --write"
    assert call(script("treebanks/count_rules"), rules, corpus, "--write")[0] == 0
    written = rules.read_text(encoding="utf8")
    assert json.loads(written) == [
        {**rule, "count": list(n)} for rule, n in zip(RULES, expected, strict=True)
    ]
    assert '  "note": "「",\n  "count": [1, 2]\n }' in written and written.endswith(" }\n]\n")
    call(script("treebanks/count_rules"), rules, corpus, "--write")
    assert rules.read_text(encoding="utf8") == written


@pytest.mark.parametrize("tag_set", ["ctb", "ud"])
def test_rule_files_are_as_the_script_writes_them(tag_set):
    text = (FOLDER / f"chinese_pos_rules_{tag_set}.json").read_text(encoding="utf8")
    assert script("treebanks/count_rules").one_key_a_line(json.loads(text)) == text
