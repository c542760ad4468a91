"""The comparison of saved numbers: rounding passes, everything else is named."""

import pytest

from .alike import differences

SAVED = {"tags": ["D", "N"], "scores": [0.25, 1000.0], "spans": [[0, 2, "NP"]]}


def test_rounding_is_no_difference():
    now = {"tags": ["D", "N"], "scores": [0.25 + 4e-8, 1000.0005], "spans": [[0, 2, "NP"]]}
    assert differences(now, SAVED) == []
    assert differences([float("nan"), float("-inf")], [float("nan"), float("-inf")]) == []


@pytest.mark.parametrize(
    "now, difference",
    [
        ({**SAVED, "tags": ["D", "V"]}, "value['tags'][1]: 'V' instead of 'N'"),
        ({**SAVED, "tags": ["D"]}, "value['tags']: 1 entries instead of 2"),
        ({**SAVED, "scores": [0.250002, 1000.0]}, "value['scores'][0]: 0.250002 instead of 0.25"),
        ({**SAVED, "scores": [float("nan"), 1000.0]}, "value['scores'][0]: nan instead of 0.25"),
        ({**SAVED, "spans": [[0, 3, "NP"]]}, "value['spans'][0][1]: 3 instead of 2"),
        ({**SAVED, "spans": [[0, 2.0, "NP"]]}, "value['spans'][0][1]: 2.0 instead of 2"),
        ({"tags": ["D", "N"], "scores": [0.25, 1000.0]}, "value: ['spans'] stand on one side only"),
    ],
)
def test_everything_else_is(now, difference):
    assert differences(now, SAVED) == [difference]
