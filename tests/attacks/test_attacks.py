"""A few of each attack; `python -m tests.attacks.files` and `python -m tests.attacks.requests` are the whole."""

import pytest

from . import files


@pytest.mark.long
@pytest.mark.parametrize("sealed", [True, False])
def test_damaged_files(sealed):
    rows = files.attack(40, seed=5, sealed=sealed)
    assert len(rows) == 40
    assert not [row for row in rows if row["outcome"] in ("silent", "uncoded", "crash")]


@pytest.mark.long
def test_hostile_requests():
    pytest.importorskip("uvicorn", reason='pip install "spacy-hoseq[ui]"')
    from . import requests

    rows = requests.attack()
    assert len(rows) > 200 and not [problem for _, _, problem in rows if problem]
