"""Smaller pipelines: metrics stay within the tolerance, other components stay as they are."""

import shutil
import sys

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hoseq.inspection.calibration import calibrate
from spacy_hoseq.pipelines.compaction import pipeline as compaction
from spacy_hoseq.pipelines.compaction.pipeline import (
    ComponentChange,
    check_output,
    compact_pipeline,
    guarded_metrics,
    is_compactible,
    likely_loss,
    save_compact,
)
from spacy_hoseq.pipelines.compaction.weights import counts_of
from spacy_hoseq.readers.annotated import dev_examples

from ...builders import tagger_of
from ...components import bidirectional_helpers as bidirectional
from ...components import chunker_helpers as chunks
from ...components.helpers import CORPUS, FREQUENT, blank, examples_of, gold, predicted, trained

NAME = "hoseq_tagger"


def tagger_scores(nlp):
    return nlp.evaluate(examples_of(nlp))


@pytest.mark.long
@pytest.mark.parametrize("variant", ["max_margin", "frequent", "log_likelihood"])
def test_taggers_keep_their_accuracy(variant):
    nlp = trained(variant)
    before = counts_of(tagger_of(nlp).model)
    result = compact_pipeline(nlp, examples_of(nlp), 0.0)
    assert result.before == result.after == {"tag_acc": 1.0} and predicted(nlp) == gold()
    (change,) = result.changes
    assert change.name == NAME and change.before == before
    assert change.after == counts_of(tagger_of(nlp).model)
    assert change.after.features < 0.8 * before.features and change.after.bytes < 0.7 * before.bytes
    assert change.pruning is not None and change.pruning.threshold > 0


@pytest.mark.long
def test_the_tolerance_is_kept_and_used():
    sizes = []
    for tolerance in (0.0, 0.1, 0.5, 1.0):
        nlp = trained()
        result = compact_pipeline(nlp, examples_of(nlp), tolerance)
        assert result.after["tag_acc"] == tagger_scores(nlp)["tag_acc"] >= 1 - tolerance
        sizes.append(result.changes[0].after.features)
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[2] and sizes[3] <= 1


def test_the_error_of_the_loss_counts_in():
    """Where parts of the examples lose differently, more features are kept, and the tolerance is kept, too."""
    kept = []
    for folds in (1, 3):
        nlp = trained()
        result = compact_pipeline(nlp, examples_of(nlp), 0.3, folds=folds)
        assert result.after["tag_acc"] >= 0.7
        kept.append(result.changes[0].after.features)
    assert kept[0] < kept[1]


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_a_pruned_component_is_not_calibrated_any_more(tolerance):
    """Prediction sets by the thresholds of other weights would be wrong."""
    nlp = trained()
    pipe = tagger_of(nlp)
    calibrate(nlp, examples_of(nlp) * 4)
    assert pipe.is_calibrated
    (change,) = compact_pipeline(nlp, examples_of(nlp), tolerance).changes
    assert change.pruning is not None and not pipe.is_calibrated


def test_same_bytes_every_time():
    saved = []
    for _ in range(2):
        nlp = trained()
        compact_pipeline(nlp, examples_of(nlp), 0.1)
        saved.append(tagger_of(nlp).to_bytes())
    assert saved[0] == saved[1]
    again = compact_pipeline(nlp, examples_of(nlp), 0.0).changes[0]
    assert again.after.features <= again.before.features


@pytest.mark.long
def test_bidirectional_taggers_keep_their_accuracy():
    nlp = bidirectional.trained(model=bidirectional.local(order=1))
    result = compact_pipeline(nlp, examples_of(nlp), 0.0)
    assert bidirectional.predicted(nlp) == gold() and result.after == {"tag_acc": 1.0}
    assert result.changes[0].after.features < 0.9 * result.changes[0].before.features
    bidirectional.train(nlp, 30)
    assert bidirectional.predicted(nlp) == gold(), "they can learn on"


@pytest.mark.long
def test_chunker_with_its_tagger():
    """Each is pruned by half of the tolerance; both metrics are guarded."""
    nlp = chunks.trained("joint")
    result = compact_pipeline(nlp, chunks.examples_of(nlp), 0.0)
    assert list(result.before) == ["spans_chunks_f", "tag_acc"] and result.after == result.before
    assert [change.name for change in result.changes] == [NAME, "hoseq_chunker"]
    assert all(change.after.features < change.before.features for change in result.changes)
    assert chunks.through(nlp)[0] == chunks.gold()


def test_each_of_two_components_may_lose_half(monkeypatch):
    nlp = chunks.trained("joint")
    losses = []

    def change(name, model, is_good):
        losses.append(is_good.args[0])
        return ComponentChange(name, counts_of(model), counts_of(model), None)

    monkeypatch.setattr(compaction, "_compact", change)
    compact_pipeline(nlp, chunks.examples_of(nlp), 0.5)
    assert losses == [0.25, 0.5]


def test_compact_models_learn_on():
    nlp = trained()
    compact_pipeline(nlp, examples_of(nlp), 1.0)
    assert predicted(nlp) != gold()
    optimizer = nlp.resume_training()
    for _ in range(10):
        nlp.update(examples_of(nlp), sgd=optimizer)
    assert tagger_scores(nlp)["tag_acc"] > 0.5, "transitions are there, most features are gone"


def with_other_component(nlp):
    """A tagger of spaCy before ours, which writes nothing that ours would keep."""
    other = nlp.add_pipe("senter", first=True)
    nlp.config["training"]["score_weights"] = {"tag_acc": 1.0}
    other.initialize(lambda: examples_of(nlp), nlp=nlp)
    return nlp


def test_other_components_stay_as_they_are(tmp_path):
    nlp = with_other_component(trained())
    before = nlp.get_pipe("senter").to_bytes()
    result = compact_pipeline(nlp, examples_of(nlp), 0.5, ["tag_acc"])
    assert [change.name for change in result.changes] == [NAME]
    assert nlp.get_pipe("senter").to_bytes() == before
    assert not is_compactible(nlp.get_pipe("senter"))
    save_compact(nlp, tmp_path / "new")
    strings = srsly.read_json(tmp_path / "new" / "vocab" / "strings.json")
    assert "sleep" in strings, "who knows what the others need"


def test_metrics():
    nlp = trained()
    scores = tagger_scores(nlp)
    assert guarded_metrics(nlp, scores) == ["tag_acc"]
    assert guarded_metrics(nlp, scores, ["token_acc"]) == ["token_acc"]
    weights = {"tag_acc": 0.5, "speed": 0.5, "never": 1.0, "token_f": 0.0, "x": None}
    nlp.config["training"]["score_weights"] = weights
    assert guarded_metrics(nlp, scores) == ["speed", "tag_acc"]
    with pytest.raises(ValueError, match=r"\[HS161\].*nonsense.*Known: .*tag_acc"):
        guarded_metrics(nlp, scores, ["tag_acc", "nonsense"])
    with pytest.raises(ValueError, match=r"\[HS161\].*tag_acc"):
        bare = [Example(eg.predicted, eg.predicted.copy()) for eg in examples_of(nlp)]
        compact_pipeline(nlp, bare, 0.0, ["tag_acc"])


def test_likely_loss():
    """Of as large a mean, losses that differ are likelier to be larger."""
    assert likely_loss(np.array([0.1, 0.1, 0.1, np.nan])) == pytest.approx(0.1)
    assert likely_loss(np.array([0.0, 0.2])) == pytest.approx(0.1 + np.sqrt(0.02 / 2))
    assert likely_loss(np.array([0.3])) == 0.3


def test_impossible_settings():
    nlp = trained()
    before = tagger_of(nlp).to_bytes()
    for tolerance in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"\[HS027\]"):
            compact_pipeline(nlp, examples_of(nlp), tolerance)
    for pipeline, names in ((spacy.blank("xx"), None), (blank(), None), (nlp, ["another"])):
        with pytest.raises(ValueError, match=r"\[HS159\]"):
            compact_pipeline(pipeline, examples_of(nlp), 0.0, components=names)
    assert tagger_of(nlp).to_bytes() == before


def test_saved_pipelines_need_no_strings(tmp_path):
    nlp = trained("frequent")
    compact_pipeline(nlp, examples_of(nlp), 0.0)
    save_compact(nlp, tmp_path / "a" / "new")
    found = srsly.read_json(tmp_path / "a" / "new" / "vocab" / "strings.json")
    assert found == sorted(tagger_of(nlp).labels)
    fresh = spacy.load(tmp_path / "a" / "new")
    assert "sleep" not in fresh.vocab.strings
    assert predicted(fresh) == gold()
    assert tagger_of(fresh).model.to_bytes() == tagger_of(nlp).model.to_bytes()
    assert fresh.config["components"][NAME]["model"]["patterns"] == FREQUENT
    save_compact(nlp, tmp_path / "b", keep_strings=True)
    assert "sleep" in spacy.load(tmp_path / "b").vocab.strings
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"], "nothing else is left"


def test_where_something_is(tmp_path):
    nlp = trained()
    nlp.to_disk(tmp_path / "old")
    before = (tmp_path / "old" / NAME / "model").read_bytes()
    with pytest.raises(ValueError, match=r"\[HS113\].*pipeline already.*--force"):
        save_compact(nlp, tmp_path / "old")
    assert (tmp_path / "old" / NAME / "model").read_bytes() == before
    compact_pipeline(nlp, examples_of(nlp), 0.1)
    save_compact(nlp, tmp_path / "old", overwrite=True)
    assert len((tmp_path / "old" / NAME / "model").read_bytes()) < len(before)
    (tmp_path / "other").mkdir()
    check_output(tmp_path / "other", overwrite=False)
    (tmp_path / "other" / "letter.txt").write_text("dear")
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=r"\[HS113\].*no pipeline"):
            save_compact(nlp, tmp_path / "other", overwrite=overwrite)
    assert (tmp_path / "other" / "letter.txt").read_text() == "dear"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_where_a_link_leads(tmp_path):
    """To an empty folder, then to a pipeline, then to nothing."""
    nlp = trained()
    link = tmp_path / "link"
    target = tmp_path / "elsewhere" / "target"
    target.mkdir(parents=True)
    link.symlink_to(target, target_is_directory=True)
    for _ in range(2):
        save_compact(nlp, link, overwrite=True)
        assert link.is_symlink() and spacy.load(target).pipe_names == nlp.pipe_names
    shutil.rmtree(target)
    save_compact(nlp, link)
    assert link.is_symlink() and (target / "meta.json").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "link"]
    assert list(target.parent.iterdir()) == [target], "nothing else is left"


def test_corpora_are_read_as_in_training(tmp_path):
    nlp = trained()
    docs = [eg.reference for eg in examples_of(nlp, CORPUS[:2])]
    whole = spacy.tokens.Doc.from_docs(docs)
    whole[len(docs[0])].is_sent_start = True
    DocBin(docs=[whole], attrs=["ORTH", "TAG", "SENT_START"]).to_disk(tmp_path / "dev.spacy")
    assert [len(eg.reference) for eg in dev_examples(nlp, tmp_path / "dev.spacy")] == [11]
    reader = {"@readers": "spacy.Corpus.v1", "path": "${paths.dev}", "gold_preproc": True}
    nlp.config["corpora"] = {"dev": reader}
    assert [len(eg.reference) for eg in dev_examples(nlp, tmp_path / "dev.spacy")] == [7, 4]
