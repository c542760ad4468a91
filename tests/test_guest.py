"""What spaCy has is what it was, whatever of this package is loaded: seen in processes of their own."""

import subprocess
import sys

import pytest

SEEN = """
import importlib, pickle, pkgutil, sys
from importlib.metadata import distribution

def classes():
    import spacy.lang.en, spacy.lang.zh, spacy.lang.de, spacy.tokens, spacy.vocab
    for name in ("en", "zh", "de", "xx"):
        language = spacy.util.get_lang_class(name)
        yield from (language, language.Defaults)
    yield from (spacy.Language, spacy.language.BaseDefaults, spacy.vocab.Vocab)
    yield from (spacy.tokens.Doc, spacy.tokens.Span, spacy.tokens.Token, spacy.tokens.DocBin)

def seen():
    # every attribute, and what is in the dicts among them: the functions of a language, say
    found = {}
    for owner in classes():
        for name, value in ((name, value) for base in owner.__mro__ for name, value in vars(base).items()):
            found[owner, name] = value
            if isinstance(value, dict):  # but for the factories that are registered as ours
                found.update({(owner, name, k): each for k, each in value.items() if "hoseq" not in str(k)})
    return found

def factories():
    return {name: func for name, func in spacy.registry.factories.get_all().items() if "hoseq" not in name}

def load_everything():
    for entry_point in distribution("spacy-hoseq").entry_points:
        entry_point.load()
    import spacy_hoseq
    for module in pkgutil.walk_packages(spacy_hoseq.__path__, "spacy_hoseq."):
        if "_hoseq_sm" not in module.name and ".cli" not in module.name:
            importlib.import_module(module.name)
"""
SPACY_FIRST = """
import spacy
nlp = spacy.blank("en")
before = {**seen(), **factories()}
load_everything()
spacy_hoseq = importlib.import_module("spacy_hoseq")
spacy_hoseq.load("en")("The old dog barks.")
after = {**seen(), **factories()}
changed = [name for name in after if name not in before or before[name] is not after[name]]
# (spaCy makes these anew at each access)
assert [name for name in changed if name[-1] not in ("__doc__", "__dict__", "__weakref__")] == [], changed
assert len(before) > 1000
"""
OURS_FIRST = """
load_everything()
import spacy
spacy.blank("en")
ours = [
    name for name, value in {**seen(), **factories()}.items()
    if "spacy_hoseq" in (getattr(value, "__module__", None) or "")
]
assert ours == [], ours
"""
PICKLED = """
import spacy
nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")
loaded = sorted(name for name in sys.modules if name.startswith("spacy_hoseq."))
light = ["arrays", "components", "components.extensions", "components.factories", "components.named"]
light += ["errors", "lazy_names"]
assert loaded == [f"spacy_hoseq.{name}" for name in light], loaded
load_everything()
doc = nlp("The old dog barks.")
for each in (doc, nlp, nlp.vocab, nlp.get_pipe("sentencizer")):
    assert b"hoseq" not in pickle.dumps(each), each
"""


@pytest.mark.parametrize(
    "script", [SPACY_FIRST, OURS_FIRST, PICKLED], ids=["spaCy first", "ours first", "pickled"]
)
def test_nothing_of_spacy_is_changed(script):
    subprocess.run([sys.executable, "-c", SEEN + script], check=True)
