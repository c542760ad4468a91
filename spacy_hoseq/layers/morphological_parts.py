"""The parts of labels of morphology, and of positional tags."""

from functools import partial
from typing import List, Sequence, Tuple
from urllib.parse import unquote

from ..arrays import Ints
from .label_parts import LabelPart, PartsOf

POS = "POS"
TAG = "TAG"
SHORTEST = 4  # characters of a positional tag


def morphological_parts(
    with_pos: bool = True, min_whole: int = 2, agreement: bool = True
) -> PartsOf:
    """Registered as `spacy_hoseq.morphological_parts.v1`. The parts of
    "Case=Gen|Number=Sing|POS=NOUN":

        POS=NOUN, Case=Gen, Number=Sing     its features
        NOUN Case=Gen, NOUN Number=Sing     each with the part of speech, if `with_pos`
        the label as a whole                if it was seen at least `min_whole` times; 0 = never

    Weights for pairs are between parts of speech, between whole labels, and if there is `agreement`
    between values of one feature, alone and with their parts of speech.
    A tag, a label without "=" or the feature TAG, has those of its positions: if it consists of
    parts between "|", or if all tags are of one length, at least four.

    with_pos (bool): also parts of a part of speech together with each of its features.
    min_whole (int): labels seen at least this often are also a part as a whole; 0 = none.
    agreement (bool): weights for pairs of values of one feature.
    """

    return partial(_parts_of, with_pos=with_pos, min_whole=min_whole, agreement=agreement)


def _parts_of(
    labels: Sequence[str], counts: Ints, *, with_pos: bool, min_whole: int, agreement: bool
) -> List[List[LabelPart]]:
    rows = [_features(label) for label in labels]
    lengths = {len(value) for row in rows for name, value in row if name == TAG}
    is_positional = len(lengths) == 1 and min(lengths) >= SHORTEST
    result = []
    for label, features, count in zip(labels, rows, counts.tolist(), strict=True):
        whole = [LabelPart(f"whole {label}", "whole")] if min_whole and count >= min_whole else []
        parts = _parts(features, with_pos, is_positional)
        if not agreement:
            parts = [part if part.kind in (POS, TAG) else part._replace(kind="") for part in parts]
        result.append([*parts, *whole])
    return result


def _features(label: str) -> List[Tuple[str, str]]:
    """Names and values. A tag alone is the value of TAG."""
    features = [] if label == "_" else label.split("|")
    if any("=" not in feature for feature in features):
        return [(TAG, label)]
    pairs = [feature.split("=", 1) for feature in features]
    return [(name, unquote(value) if name == TAG else value) for name, value in pairs]


def _parts(features: List[Tuple[str, str]], with_pos: bool, is_positional: bool) -> List[LabelPart]:
    parts = []
    pos = [value for name, value in features if name == POS]
    for name, value in features:
        parts.append(LabelPart(f"{name}={value}", name))
        if name == TAG:
            pieces = value.split("|") if "|" in value else value if is_positional else ""
            parts += [
                LabelPart(f"{name}{i}={piece}", f"{name}{i}") for i, piece in enumerate(pieces)
            ]
        elif with_pos and pos and name != POS:
            parts.append(LabelPart(f"{pos[0]} {name}={value}", f"POS {name}"))
    return parts
