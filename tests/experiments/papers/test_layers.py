"""Two layers trained apart or jointly: what is trained."""

from ...repository import script

layers = script("papers/layers")


def test_what_was_stopped_goes_on_without_rows_twice(tmp_path, monkeypatch):
    """And what reads best tags is trained once for all thresholds."""
    trained = []

    def fit(config, output, changes):
        trained.append(output.name)
        return 1.0

    monkeypatch.setattr(layers, "fit", fit)
    monkeypatch.setattr(
        layers, "counts", lambda model, part: {"f": 0.5, "tags": 1.0, "sentences": []}
    )
    output = tmp_path / "x.jsonl"
    layers.main(output, tmp_path, seeds="0", priors="l2=0.1")
    assert (
        trained.count("tagger") == trained.count("best tags") == 1 and trained.count("joint") == 2
    )
    whole = output.read_text(encoding="utf8")
    lines = whole.splitlines()
    assert len(lines) == 8
    output.write_text("\n".join(lines[:6]) + "\n", encoding="utf8")
    layers.main(output, tmp_path, seeds="0", priors="l2=0.1")
    assert output.read_text(encoding="utf8") == whole
    n_trained = len(trained)
    layers.main(output, tmp_path, seeds="0", priors="l2=0.1")
    assert len(trained) == n_trained
