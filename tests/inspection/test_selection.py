"""What to annotate next: measures against enumeration, the choice against trying all, the words that are asked for,
and the command."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from spacy_hoseq.inspection.selection import Doubts, doubts_of, select

from ..components import helpers
from ..repository import hoseq

TEXT = "old runs see home"
POOL = ["she runs home .", "zebra under quince <b>", "a cat runs ."]


def of(words, amounts):
    amounts = np.array(amounts, float)
    return Doubts(amounts.sum(), np.array(words, np.uint64), amounts, amounts)


def test_doubts_are_the_enumerated_ones():
    nlp = helpers.ready("log_likelihood")
    scored = helpers.tagger_of(nlp).top_k([helpers.doc_of(nlp, TEXT)], 10**5)[0]
    assert len(scored) == len(helpers.LABELS) ** 4
    p = np.exp(np.array([score for _, score in scored]))
    p /= p.sum()
    value = -(p * np.log(p)).sum()
    (doubts,) = doubts_of(nlp, [helpers.doc_of(nlp, TEXT)])
    assert doubts.entropy == pytest.approx(value, abs=1e-6)
    assert doubts.shares.sum() == pytest.approx(value)
    has_best = np.array([y.labels for y in scored]) == scored[0].labels
    assert doubts.doubtful == pytest.approx(1 - p @ has_best, abs=1e-6)
    entropies = []  # of single labels: shares are in proportion to them
    for t in range(4):
        sums = defaultdict(float)
        for q, (labels, _) in zip(p, scored, strict=True):
            sums[labels[t]] += q
        entropies.append(-sum(q * np.log(q) for q in sums.values()))
    found = doubts.shares
    assert found == pytest.approx(doubts.entropy * np.array(entropies) / sum(entropies), abs=1e-6)


def test_sentences_of_a_text_add_up_and_the_docs_stay_as_they_are():
    nlp = helpers.ready("log_likelihood")
    one, other = helpers.doc_of(nlp, TEXT), helpers.doc_of(nlp, "she sleeps")
    words = f"{TEXT} she sleeps \n".split(" ")
    both = Doc(nlp.vocab, words=words, sent_starts=[1, 0, 0, 0, 1, 0, 0])
    first, second, together = doubts_of(nlp, [one, other, both])
    assert together.entropy == pytest.approx(first.entropy + second.entropy)
    # white space is no word
    assert together.doubtful == pytest.approx([*first.doubtful, *second.doubtful, 0])
    assert together.shares.sum() == pytest.approx(together.entropy)
    assert first.entropy != second.entropy
    assert not one.has_annotation("TAG")


def coverage(doubts, chosen):
    total = {}
    for i in chosen:
        for word, amount in zip(doubts[i].words.tolist(), doubts[i].shares.tolist(), strict=True):
            total[word] = total.get(word, 0) + amount
    return sum(np.sqrt(amount) for amount in total.values())


@pytest.mark.parametrize("seed", range(8))
def test_each_text_has_the_largest_gain(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 9).tolist()
    doubts = [of(rng.integers(0, 6, size), rng.random(size)) for size in sizes]
    chosen = select(doubts, 5)
    for i in range(1, 6):
        rest = [j for j in range(9) if j not in chosen[: i - 1]]
        best = max(coverage(doubts, [*chosen[: i - 1], j]) for j in rest)
        assert coverage(doubts, chosen[:i]) == pytest.approx(best)
    optimum = max(coverage(doubts, some) for some in itertools.combinations(range(9), 5))
    assert coverage(doubts, chosen) >= (1 - 1 / np.e) * optimum


@pytest.fixture
def run(tmp_path):
    helpers.ready("log_likelihood").to_disk(tmp_path / "model")

    return lambda pool, *arguments: hoseq("select", tmp_path / "model", tmp_path / pool, *arguments)


def test_command_with_texts(run, tmp_path):
    """Lines of JSON, of plain text, or of files of a folder; what cannot be read is told."""
    lines = [{"text": text, "id": i} for i, text in enumerate(POOL)]
    srsly.write_jsonl(tmp_path / "pool.jsonl", lines)
    out = ["-o", tmp_path / "out.jsonl", "--force"]
    code, output = run("pool.jsonl", "-n", 2, *out, "-d", "0.3")
    assert code == 0 and "2 of 3 texts" in output, output
    first, second = srsly.read_jsonl(tmp_path / "out.jsonl")
    assert first["text"] == POOL[1] and first["meta"]["id"] == 1
    assert first["meta"]["doubt"] > second["meta"]["doubt"]
    assert [t["text"] for t in first["tokens"]][:2] == ["zebra", "under"]
    assert first["doubtful"] and all(0.3 < word["doubt"] < 1 for word in first["doubtful"])
    (tmp_path / "pool.txt").write_text("\n\n".join(POOL), "utf8")
    code, output = run("pool.txt", "-n", 2, *out)
    assert code == 0 and "2 of 3 texts" in output, output
    (tmp_path / "pool.jsonl").write_text('{"text": "a cat"}\n{"no": 1}\n', "utf8")
    code, output = run("pool.jsonl", *out)
    assert code == 1 and "pool.jsonl" in output
    assert len(list(srsly.read_jsonl(tmp_path / "out.jsonl"))) == 1
    code, output = run("pool.txt", "-o", tmp_path / "out.txt")
    assert code == 1 and "[HS027]" in output, output


def test_command_with_docs(run, tmp_path):
    nlp = spacy.blank("xx")
    DocBin(docs=[helpers.doc_of(nlp, text) for text in POOL]).to_disk(tmp_path / "pool.spacy")
    code, output = run("pool.spacy", "-n", 1, "-o", tmp_path / "out.spacy")
    assert code == 0, output
    (doc,) = DocBin().from_disk(tmp_path / "out.spacy").get_docs(nlp.vocab)
    assert len(doc.spans["doubtful"]) == len(doc.spans["doubtful"].attrs["scores"]) > 0
