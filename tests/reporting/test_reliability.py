"""Expected against observed: the numbers, and the picture."""

from xml.etree import ElementTree

import numpy as np
import pytest

from spacy_hoseq.reporting.reliability import (
    BLUE,
    GREY,
    MARGIN,
    SIDE,
    TOP,
    draw_reliability,
    reliability,
)


def plain(probabilities, right, n_bins):
    """Bin by bin: how many, their mean probability, the share that is right; and the error."""
    bins = [[] for _ in range(n_bins)]
    for p, hit in zip(probabilities, right, strict=True):
        bins[n_bins - 1 if p == 1 else int(p * n_bins)].append((p, hit))
    counts = [len(each) for each in bins]
    expected = [sum(p for p, _ in each) / len(each) if each else 0 for each in bins]
    observed = [sum(hit for _, hit in each) / len(each) if each else 0 for each in bins]
    off = [n * abs(e - o) for n, e, o in zip(counts, expected, observed, strict=True)]
    return counts, expected, observed, sum(off) / len(probabilities)


def made_up(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.beta(5, 1, n), [0.0, 1.0, 1.0]])
    return p, rng.random(len(p)) < p**2


@pytest.mark.parametrize("n_bins", [1, 2, 15, 40])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_a_plain_loop(seed, n_bins):
    p, right = made_up(seed=seed)
    found, (counts, expected, observed, error) = reliability(p, right, n_bins), plain(p, right, n_bins)
    assert found.counts.tolist() == counts and found.counts.sum() == len(p)
    assert found.expected == pytest.approx(expected) and found.observed == pytest.approx(observed)
    assert found.error == pytest.approx(error)


def test_worked_out_by_hand():
    found = reliability([0.9, 0.7, 0.6, 0.2], [True, True, False, False], 2)
    assert found.counts.tolist() == [1, 3]
    assert found.expected == pytest.approx([0.2, 2.2 / 3]) and found.observed == pytest.approx([0, 2 / 3])
    assert found.error == pytest.approx((0.2 + 0.2) / 4)


def test_lists_of_whole_numbers_as_read_from_json():
    assert reliability([1, 0, 0.5], [1, 0, 1]).error == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("p, number", [(0.0, 0), (1.0, 14), (1 + 1e-12, 14), (0.0666, 0), (0.0667, 1), (1e-300, 0)])
def test_bin_of_a_probability(p, number):
    found = reliability([p], [True])
    assert np.flatnonzero(found.counts).tolist() == [number] and len(found.counts) == 15
    assert found.error == pytest.approx(abs(1 - p)) and found.observed[number] == 1


def test_perfect_and_always_wrong():
    assert reliability([1.0, 0.0, 1.0], [True, False, True]).error == 0
    assert reliability([1.0, 0.0, 1.0], [False, True, False]).error == 1


def test_no_predictions():
    found = reliability([], [])
    assert found.counts.tolist() == [0] * 15 and found.error == 0
    assert not found.expected.any() and not found.observed.any()
    assert elements(found, title="Nothing")["title"] == [], "no bars"


def elements(found, title="T"):
    """Of the picture, by tag; bars by colour, titles of bars as text."""
    tree = ElementTree.fromstring(draw_reliability(found, title=title))
    result = {"title": [], "circle": [], "text": [], BLUE: [], GREY: []}
    for element in tree.iter():
        tag = element.tag.split("}")[1]
        kind = element.get("fill") if tag == "rect" else tag
        result.setdefault(kind, []).append(element.text if tag in ("title", "text") else element)
    return result


def test_picture_shows_the_numbers():
    p, right = made_up()
    found = reliability(p, right)
    shown, filled = elements(found, "Chunks"), np.flatnonzero(found.counts)
    assert shown["text"][:3] == [
        "Chunks",
        "bars: share that is right; dots: mean probability",
        f"expected calibration error {found.error:.4f}",
    ]
    assert len(filled) > 10 and len(shown[BLUE]) == len(shown[GREY]) == len(shown["circle"]) == len(filled)
    bottom = TOP + SIDE
    for i, bar, dot, below in zip(filled, shown[BLUE], shown["circle"], shown[GREY], strict=True):
        assert float(bar.get("height")) == pytest.approx(SIDE * found.observed[i], abs=0.06)
        assert float(bar.get("y")) + float(bar.get("height")) == pytest.approx(bottom, abs=0.11)
        assert bottom - float(dot.get("cy")) == pytest.approx(SIDE * found.expected[i], abs=0.06)
        left, width = float(bar.get("x")), float(bar.get("width"))
        assert left + width / 2 == pytest.approx(MARGIN + SIDE * (i + 0.5) / 15, abs=0.11)
        assert float(dot.get("cx")) == pytest.approx(MARGIN + SIDE * (i + 0.5) / 15, abs=0.06)
        assert float(below.get("height")) == pytest.approx(40 * found.counts[i] / found.counts.max(), abs=0.06)
        assert (below.get("x"), below.get("width")) == (bar.get("x"), bar.get("width"))
    told = [
        f"{found.counts[i]} predictions of {i / 15:.2f} to {(i + 1) / 15:.2f}: expected {found.expected[i]:.3f}, "
        f"right {found.observed[i]:.3f}"
        for i in filled
    ]
    assert shown["title"] == [text for text in told for _ in range(2)]


@pytest.mark.parametrize("n_bins", [1, 15, 40])
def test_everything_is_within_the_picture(n_bins):
    p, right = made_up()
    shown = elements(reliability(p, right, n_bins))
    (svg,) = shown["svg"]
    width, height = float(svg.get("width")), float(svg.get("height"))
    assert svg.get("viewBox") == f"0 0 {width:.0f} {height:.0f}"
    for bar in [*shown[BLUE], *shown[GREY]]:
        x, y, w, h = (float(bar.get(name)) for name in ("x", "y", "width", "height"))
        assert MARGIN <= x and x + w <= MARGIN + SIDE and TOP <= y and y + h <= height and w > 0


@pytest.mark.parametrize("title", ["<&>", "</text><script>alert(1)</script>", "\"'", "木 & 猫"])
def test_title_is_escaped(title):
    found = reliability([0.5], [True])
    assert elements(found, title)["text"][0] == title
    assert "<script" not in draw_reliability(found, title=title)
