"""`hoseq report`: one object, as a page, as Markdown and as JSON."""

from html.parser import HTMLParser

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hoseq.reporting.evaluation import evaluated
from spacy_hoseq.reporting.report import as_markdown, as_page, examples_in, learning_curve, report

from ..chunk_corpus import QUICK, doc_of, sentences
from ..components import bidirectional_helpers, chunker_helpers, helpers
from ..repository import config_of, hoseq

WORDS = [("the <script> dog runs .", "D A N V ."), ("she runs & sleeps .", "N V N V .")]
WORDS += helpers.CORPUS[:3]


def examples():
    return helpers.examples_of(helpers.ready("log_likelihood"), WORDS)


def made(**settings):
    nlp = helpers.ready("log_likelihood")
    return report(nlp, examples(), model="m<1>", data="d.spacy", **settings)


class Reader(HTMLParser):
    """Which elements a page has, and its words."""

    void = {"meta", "input", "br"}

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.words = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data


def test_figures_are_those_of_spacys_scorer():
    nlp = helpers.ready("log_likelihood")
    (layer,) = evaluated(nlp, examples(), {"the", "she"})
    found = layer["scores"]["accuracy"]["value"]
    assert found == pytest.approx(nlp.evaluate(examples())["tag_acc"])
    n = {name: share["n"] for name, share in layer["scores"].items()}
    assert n["accuracy"] == n["known words"] + n["unknown words"] == 5 + 5 + 7 + 4 + 3
    assert n["sentences"] == 5
    assert sum(layer["calibration"]["counts"]) == n["accuracy"]
    expected = pytest.approx(1 - layer["scores"]["accuracy"]["value"])
    assert layer["calibration"]["curve"][-1] == (1.0, expected)
    entropies = [row["entropy"] for row in layer["uncertain"]]
    assert entropies == sorted(entropies, reverse=True) and len(entropies) == 5
    assert 0 < layer["uncertain"][0]["p"] < 1
    assert len(layer["right"]) == 24
    assert layer["right"].count("1") / 24 == layer["scores"]["accuracy"]["value"]
    assert np.sum(layer["counts"], axis=0).tolist() == [layer["right"].count("1"), 24, 24]


def test_layers_of_a_pipeline_with_chunks():
    nlp = chunker_helpers.ready("marginals")
    tags, chunks = evaluated(nlp, chunker_helpers.examples_of(nlp))
    assert (tags["attribute"], chunks["attribute"]) == ("tag", "spans.chunks")
    found = nlp.evaluate(chunker_helpers.examples_of(nlp))
    assert chunks["scores"]["f"]["value"] == pytest.approx(found["spans_chunks_f"])
    assert sum(chunks["calibration"]["counts"]) == sum(map(len, chunker_helpers.gold()))
    assert chunks["calibration"]["brier"] is None
    page = as_markdown(report(nlp, chunker_helpers.examples_of(nlp), model="m", data="d"))
    assert f"| {chunks['scores']['precision']['n']} found |" in page
    bare = [eg.predicted for eg in chunker_helpers.examples_of(nlp)]
    (_, other) = evaluated(nlp, chunker_helpers.examples_of(nlp), other=bare)
    assert other["comparison"] is None, "it writes no chunks"


def test_a_bidirectional_tagger_has_all_but_probabilities():
    nlp = bidirectional_helpers.ready()
    found = report(nlp, helpers.examples_of(nlp, WORDS), model="m", data="d", train=[])
    (layer,) = found["layers"]
    shown = layer["scores"]["accuracy"]["value"]
    assert shown == pytest.approx(nlp.evaluate(helpers.examples_of(nlp, WORDS))["tag_acc"])
    assert layer["attribute"] == "tag" and layer["labels"]
    assert layer["scores"]["unknown words"]["n"] == 24
    assert layer["calibration"] is None and not layer["uncertain"] and not layer["errors"]
    assert "calibration" not in as_markdown(found) and "| accuracy |" in as_markdown(found)
    page = Reader(as_page(found))
    assert not page.open and "Confusions" in page.words and "probabilities" not in page.words


def test_another_pipeline_is_compared():
    worse = helpers.trained("log_likelihood", n_updates=1)
    (layer,) = made(against=("worse", worse))["layers"]
    (alone,) = evaluated(worse, helpers.examples_of(worse, WORDS))
    comparison = layer["comparison"]
    assert comparison["score"] == alone["scores"]["accuracy"]
    ours, theirs = (one["scores"]["accuracy"]["value"] for one in (layer, alone))
    assert comparison["difference"]["gain"] == pytest.approx(theirs - ours)
    found = comparison["tokens"]["gained"] - comparison["tokens"]["lost"]
    assert found == round(24 * comparison["difference"]["gain"])
    assert len(comparison["lost"]) == comparison["tokens"]["lost"]
    assert len(comparison["gained"]) == comparison["tokens"]["gained"]


def test_page_and_markdown_and_json_say_the_same():
    found = made(train=[eg.reference for eg in examples()][:1])
    (layer,) = found["layers"]
    value = f"{100 * layer['scores']['accuracy']['value']:.2f}"
    page = Reader(as_page(found))
    assert not page.open and value in page.words and "m<1> on d.spacy" in page.words
    assert f"| accuracy | {value} (" in as_markdown(found)
    plain = srsly.json_loads(srsly.json_dumps(found))
    assert f"{100 * plain['layers'][0]['scores']['accuracy']['value']:.2f}" == value
    assert plain["layers"][0]["labels"][0] == pytest.approx(layer["labels"][0])


def test_words_stay_words_and_nothing_is_loaded():
    page = Reader(as_page(made(against=("other", helpers.trained(n_updates=1)))))
    assert "<script>" in page.words and "script" not in [tag for tag, _ in page.elements]
    named = [(tag, name) for tag, attrs in page.elements for name in attrs]
    assert not {"src", "href"} & {name for tag, name in named if tag != "a"}
    assert "<script>" not in as_markdown(made())
    found = made()
    layer = {**found["layers"][0], "component": "<i>x", "attribute": "[a](javascript:b)"}
    text = as_markdown({**found, "title": "<b>|`x", "layers": [layer]})
    assert "# &lt;b>\\|\\`x" in text and "## &lt;i>x: \\[a](javascript:b)" in text
    titles = [attrs.get("aria-label") for tag, attrs in page.elements if tag == "svg"]
    assert len(titles) == 2 and all(titles)


def run(*arguments):
    return hoseq("report", *arguments)


def test_command(tmp_path):
    helpers.ready("log_likelihood").to_disk(tmp_path / "model")
    DocBin(docs=[eg.reference for eg in examples()]).to_disk(tmp_path / "data.spacy")
    data = tmp_path / "data.spacy"
    options = ("--train", data, "--against", tmp_path / "model", "-o", tmp_path / "r")
    code, output = run(tmp_path / "model", data, *options)
    assert code == 0 and "accuracy" in output and "Left out" not in output, output
    saved = srsly.read_json(tmp_path / "r" / "report.json")
    assert saved["docs"] == 5
    assert saved["layers"][0]["comparison"]["tokens"] == {"gained": 0, "lost": 0, "p": 1.0}
    assert (tmp_path / "r" / "report.md").exists() and (tmp_path / "r" / "report.html").exists()
    assert saved["bytes"] > 1000 and saved["tokens_per_second"] > 0
    DocBin().to_disk(tmp_path / "empty.spacy")
    code, output = run(tmp_path / "model", tmp_path / "empty.spacy", "-o", tmp_path / "none")
    assert code == 1 and "[HS159] There is no annotated text in" in output
    code, output = run(tmp_path / "model", data, "--curve", "-o", tmp_path / "none")
    assert code == 1 and "[HS159]" in output and not (tmp_path / "none").exists()


def test_a_component_without_gold_labels_is_told(tmp_path):
    nlp = helpers.ready("log_likelihood")
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=[Doc(nlp.vocab, words=["a", "b"])]).to_disk(tmp_path / "bare.spacy")
    code, output = run(tmp_path / "model", tmp_path / "bare.spacy", "-o", tmp_path / "r")
    assert code == 0 and "has no gold labels of: hoseq_tagger" in output


@pytest.mark.long
def test_learning_curve():
    nlp = spacy.blank("xx")
    docs = [doc_of(nlp.vocab, text) for text in sentences()[:40]]
    points = learning_curve(config_of("crf", QUICK), docs[:30], docs[30:])
    assert [point["docs"] for point in points] == [4, 8, 15, 30]
    scores = [point["scores"]["hoseq_tagger"]["value"] for point in points]
    assert scores[0] < scores[-1] > 0.9


def test_texts_whose_tokens_the_reader_would_change(tmp_path):
    nlp = helpers.ready("log_likelihood")
    words, tags = ["can", "not", "run"], ["V", "R", "V"]
    doc = Doc(nlp.vocab, words=words, spaces=[False, True, False], tags=tags)
    DocBin(docs=[doc]).to_disk(tmp_path / "data.spacy")
    (example,) = examples_in(nlp, tmp_path / "data.spacy")
    assert isinstance(example, Example) and [t.text for t in example.predicted] == words
    assert not example.predicted.has_annotation("TAG")
