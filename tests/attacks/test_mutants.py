"""The planted bugs of mutants.yml name places and tests that are there."""

import pytest

from ..repository import ROOT
from .mutants import MUTANTS


@pytest.mark.skipif(not (ROOT / "spacy_hoseq").exists(), reason="installed without its source tree")
def test_mutants_name_what_is_there():
    for mutant in MUTANTS:
        assert (ROOT / mutant.path).read_text("utf8").count(mutant.before) == 1, mutant
        assert mutant.after != mutant.before, mutant
        assert all((ROOT / "tests" / name).exists() for name in mutant.tests.split()), mutant
