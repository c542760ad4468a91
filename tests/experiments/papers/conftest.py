"""Decoders of experiments/papers/baselines are registered as by `--code`."""

from spacy.cli._util import import_code

from ...repository import ROOT

import_code(ROOT / "experiments" / "papers" / "register.py")
