"""Every recipe is a complete config, for any language; it trains and predicts on the corpora in assets/."""

import re
import warnings
from io import StringIO
from operator import attrgetter
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import biluo_tags_to_spans, iob_to_biluo
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

import spacy_hoseq
from spacy_hoseq.pipelines.recipes import RECIPES, recipe
from spacy_hoseq.readers import corpus as read_corpus
from spacy_hoseq.segmentation import make_units

from ...repository import ROOT

FOLDER = Path(spacy_hoseq.__file__).parent / "pipelines" / "recipes"
PAIRS = [pytest.param(name, None, id=name) for name in RECIPES]
for _name in RECIPES:
    if RECIPES[_name].lang != "zh":
        PAIRS.append(pytest.param(_name, "zh", id=f"{_name}-zh", marks=pytest.mark.long))
WRITTEN = {"morphologizer": "pos_", "treebank": "lemma_", "sentences": "is_sent_start"}  # else tags
TAGGER, CHUNKER = "hoseq_tagger", "hoseq_chunker"


def config_of(name, lang=None, **overrides):
    return Config().from_str(recipe(name, lang), interpolate=False, overrides=overrides)


def test_there_is_one_file_for_each():
    assert {path.stem for path in FOLDER.glob("*.cfg")} == {*RECIPES}


@pytest.mark.parametrize("name", RECIPES)
def test_files_are_complete_configs(name):
    """Which `spacy init fill-config` reads. A language changes a few lines of them; without one they stay."""
    text = (FOLDER / f"{name}.cfg").read_text("utf8")
    found = load_model_from_config(Config().from_str(text), auto_fill=True, validate=True).lang
    assert found == RECIPES[name].lang
    if name != "chinese":
        assert recipe(name, "de") == text.replace('lang = "en"', 'lang = "de"')


@pytest.mark.parametrize("name, lang", PAIRS)
def test_nothing_is_left_to_fill_in(name, lang):
    config = config_of(name, lang)
    nlp = load_model_from_config(config.interpolate(), auto_fill=True, validate=True)
    assert nlp.lang == (lang or RECIPES[name].lang) and nlp.pipe_names == config["nlp"]["pipeline"]
    for pipe in nlp.pipe_names:
        assert nlp.get_pipe_config(pipe) == config.interpolate()["components"][pipe]
    filled = nlp.config.interpolate()
    for section in ("nlp", "corpora", "initialize"):
        assert filled[section] == config.interpolate()[section], section
    assert set(config["training"]) == set(filled["training"])
    # training ends when nothing is gained, after whole epochs and before the last
    training = filled["training"]
    n_updates = training["max_epochs"] * training["eval_frequency"]
    assert (
        0 < training["patience"] < n_updates
        and training["patience"] % training["eval_frequency"] == 0
    )


@pytest.mark.parametrize("name", RECIPES)
def test_comments_say_what_it_is_and_how_it_is_trained(name):
    lines = recipe(name).splitlines()
    heading = lines[: lines.index("")]
    assert len(heading) >= 2 and all(line.startswith("# ") for line in heading)
    assert heading[-1].startswith("#   python -m spacy train") and "--paths.dev" in heading[-1]
    assert sum(line.startswith("#") for line in lines) > 10 and max(map(len, lines)) <= 120


def test_tagger_is_a_bare_pipe_with_another_objective_and_rate():
    nlp = spacy.blank("en")
    nlp.add_pipe(TAGGER)
    settings = config_of("tagger", "de").interpolate()["components"][TAGGER]
    bare = nlp.get_pipe_config(TAGGER)
    assert settings.pop("objective") == "max_margin"
    assert bare.pop("objective") == "log_likelihood"
    assert settings["update_rule"].pop("learn_rate") == 0.03
    assert bare["update_rule"].pop("learn_rate") == 0.1
    assert settings == bare


SETS = {  # recipe and language -> sets of templates, and how many classes of words they read
    ("tagger", "de"): [("english_pos", 0)],
    ("tagger", None): [("english_pos", 4)],
    ("tagger", "zh"): [("chinese_pos", 1)],
    ("chinese", None): [("chinese_pos", 1)],
    ("accurate", "en"): [("accurate_pos", 4)],
    ("accurate", "zh"): [("accurate_chinese_pos", 1)],
    ("chunker", "en"): [("chunks", 4)],
    ("neural-chunker", "en"): [("chunks", 4)],
    ("entities", "en"): [("entities", 5)],
    ("entities", "zh"): [("chinese_entities", 1)],
    ("words", "en"): [("spaced_segmentation", 0)],
    ("words", "zh"): [("segmentation", 0)],
    ("pipeline", "zh"): [("chinese_pos", 1), ("word_entities", 0), ("upstream_chunks", 0)],
}


def sets_in(section):
    if section.get("@misc") == "spacy_hoseq.templates.v1":
        return [(section["name"], section["classes"])]
    return [each for part in section.values() if isinstance(part, dict) for each in sets_in(part)]


@pytest.mark.parametrize("name, lang", SETS)
def test_templates_of_languages(name, lang):
    config = config_of(name, lang)
    assert sets_in(config["components"]) == SETS[name, lang]
    lookups = config["initialize"]["lookups"]
    most = max(n for _, n in SETS[name, lang])
    if name != "words":
        assert (lookups is None) == (most == 0)
    if most:
        assert lookups["pipeline"] == config["nlp"]["lang"]
        assert lookups["more"] == (["en_names"] if most == 5 else None)


def test_tokenizers_of_languages():
    assert config_of("tagger", "zh")["nlp"]["tokenizer"]["segmenter"] == "char"
    assert config_of("entities", "de")["nlp"] == {**config_of("entities")["nlp"], "lang": "de"}
    for lang in ("xx", "ja", "th", "ko", "vi"):  # no other package is needed
        config = config_of("tagger", lang).interpolate()
        assert load_model_from_config(config, auto_fill=False).lang == lang


def test_what_does_not_exist():
    message = r'\[HS161\] There is nothing named "tager" here. Known: tagger, higher-order, '
    with pytest.raises(ValueError, match=message):
        recipe("tager")
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong language: qq"):
        recipe("tagger", "qq")


def rows_of(path, separator, n_sentences):
    """Words, tags and chunk tags of sentences."""
    for block in path.read_text("utf8").strip().split("\n\n")[:n_sentences]:
        rows = [line.split(separator) for line in block.splitlines() if not line.startswith("#")]
        if separator == "\t":
            yield [row[1] for row in rows], [row[4] for row in rows], ["O"] * len(rows)
        else:
            yield tuple(zip(*rows, strict=True))


@pytest.fixture(scope="module", params=["en", pytest.param("zh", marks=pytest.mark.long)])
def corpus(request, tmp_path_factory):
    """.spacy files of the demo corpus: language, overrides. In Chinese, every noun is a chunk."""
    folder, vocab = tmp_path_factory.mktemp(request.param), spacy.blank("xx").vocab
    source, separator = ("train.conll", " ") if request.param == "en" else ("train.conllu", "\t")
    docs = []
    for words, tags, column in rows_of(ROOT / "assets" / request.param / source, separator, 60):
        starts = [i == 0 for i in range(len(words))]
        doc = Doc(vocab, words=list(words), tags=list(tags), sent_starts=starts)
        for token in doc:
            token.pos_ = {"N": "NOUN", "V": "VERB"}.get(token.tag_[0], "X")
            token.lemma_ = token.text.lower()
            token.set_morph("Number=Plur" if token.tag_ == "NNS" else None)
        chunks = biluo_tags_to_spans(doc, iob_to_biluo(list(column)))
        if request.param == "zh":
            chunks = [Span(doc, i, i + 1, "NP") for i, tag in enumerate(tags) if tag[0] == "N"]
        doc.spans["chunks"] = chunks
        doc.set_ents(list(doc.spans["chunks"]))
        docs.append(doc)
    DocBin(docs=docs[:50], store_user_data=True).to_disk(folder / "train.spacy")
    DocBin(docs=docs[50:], store_user_data=True).to_disk(folder / "dev.spacy")
    paths = {f"paths.{part}": str(folder / f"{part}.spacy") for part in ("train", "dev")}
    return request.param, paths


def first_doc(name, nlp, path):
    """Of a corpus. Recipe `words` labels the units of its text."""
    if name == "words":
        return next(iter(read_corpus(path, augmenter=make_units("last"))(nlp))).reference
    return next(DocBin().from_disk(path).get_docs(nlp.vocab))


@pytest.mark.long
@pytest.mark.parametrize("name", RECIPES)
def test_recipe_learns_and_predicts(name, corpus, tmp_path):
    """A few updates, in the number that evaluations ask for; nothing is warned of."""
    lang, paths = corpus
    few = {"eval_frequency": 2, "max_steps": 6, "logger.progress_bar": None}
    changes = {**paths, **{f"training.{name}": value for name, value in few.items()}}
    path = tmp_path / "config.cfg"
    path.write_text(recipe(name, lang), "utf8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log = StringIO()
        train(init_nlp(load_config(path, overrides=changes)), tmp_path, stdout=log, stderr=log)
    steps = re.findall(r"^ +\d+ +(\d+) ", log.getvalue(), flags=re.MULTILINE)
    assert steps == ["0", "2", "4", "6"]
    nlp = spacy.load(tmp_path / "model-best")
    doc = first_doc(name, nlp, paths["paths.train"])
    tags = [t.tag_ for t in doc] if name.endswith("chunker") else None
    result = nlp(Doc(nlp.vocab, words=[t.text for t in doc], tags=tags))
    base = name.removeprefix("neural-")
    if base in ("chunker", "entities", "pipeline"):
        group = result.spans["entities" if base == "entities" else "chunks"]
        assert len(group) > 0 and len(group.attrs["scores"]) == len(group)
        assert base != "entities" or list(result.ents) == list(group)
    if base not in ("chunker", "entities"):
        labels = attrgetter(WRITTEN.get(name, "tag_"))
        right = sum(labels(guess) == labels(gold) for guess, gold in zip(result, doc, strict=True))
        assert right > 0.4 * len(doc)


def test_entities_are_those_above_a_threshold_of_their_own():
    """At first 0.3, so that likely ones are found even if the best labelling has none; chunks are those of it."""
    components = {name: config_of(name, "en")["components"] for name in RECIPES}
    chunkers = {name: each[CHUNKER] for name, each in components.items() if CHUNKER in each}
    thresholds = {name: each.get("span_threshold") for name, each in chunkers.items()}
    assert thresholds == {
        "chunker": None, "pipeline": None, "entities": 0.3, "neural-chunker": None, "neural-entities": 0.3,
    }  # fmt: skip


def test_recipes_of_labels_calibrate_in_training():
    found = {name: config_of(name, "en")["training"]["before_to_disk"] for name in RECIPES}
    assert {name for name, callback in found.items() if callback is None} == {
        "bidirectional", "words", "sentences", "treebank",
    }  # fmt: skip
    fitted = {name for name, callback in found.items() if callback and callback["span_thresholds"]}
    assert fitted == {"entities", "neural-entities"}


def test_probabilities():
    assert config_of("crf")["components"][TAGGER]["save_marginals"] is True
    assert config_of("pipeline")["components"][TAGGER]["save_marginals"] is False
    for name in ("neural-chunker", "neural-entities"):
        assert config_of(name)["components"][CHUNKER]["objective"] == "log_likelihood"


def test_neural_recipes_add_a_network_and_change_nothing_else():
    for name, base in (("neural-chunker", "chunker"), ("neural-entities", "entities")):
        for lang in ("en", "zh"):
            neural, sparse = config_of(name, lang), config_of(base, lang)
            emissions = neural["components"][CHUNKER]["model"]["emissions"]
            assert emissions["@architectures"] == "spacy_hoseq.SumEmissions.v1"
            assert emissions["second"]["tok2vec"]["@architectures"] == "spacy.HashEmbedCNN.v2"
            neural["components"][CHUNKER]["model"]["emissions"] = emissions["first"]
            assert neural == sparse


def test_parts_of_the_pipeline_can_be_what_the_paper_compares():
    """Marginals, and joint training, by one setting."""
    listener = "components.hoseq_chunker.model.emissions.second.upstream."
    for changes in ({}, {f"{listener}grad_factor": 1.0}):
        config = config_of("pipeline", **changes).interpolate()
        nlp = load_model_from_config(config, auto_fill=False, validate=True)
        assert nlp.pipe_names == [TAGGER, CHUNKER]
