"""A tagger that is renamed under the component that listens to it."""


import pytest
import spacy

from .chunker_helpers import (
    KINDS,
    NAME,
    TAGGER,
    TEXTS,
    chunker_of,
    gold,
    on,
    ready,
    through,
)
from .helpers import reloaded

NEW = "first_tagger"


def listener_of(nlp, name=NAME):
    (listener,) = [node for node in nlp.get_pipe(name).model.walk() if node.name == "marginal_listener"]
    return listener


def renamed(kind="joint", new=NEW):
    nlp = reloaded(ready(kind))
    nlp.rename_pipe(TAGGER, new)
    return nlp


@pytest.mark.parametrize("kind", KINDS)
def test_a_renamed_tagger_is_listened_to(kind):
    nlp = renamed(kind)
    assert nlp.get_pipe(NEW).listening_components == [NAME] and listener_of(nlp).upstream_name == NEW
    assert through(nlp) == through(ready(kind))
    assert on(nlp(TEXTS[0])) == gold()[0]


def test_the_name_is_saved(tmp_path):
    """spaCy leaves the old name in the listener's config."""
    nlp = renamed()
    before = through(nlp)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.config["components"][NAME]["model"]["emissions"]["second"]["upstream"]["upstream"] == TAGGER
    assert through(loaded) == before == through(reloaded(nlp)) and listener_of(loaded).upstream_name == NEW
    loaded.rename_pipe(NEW, "once_more")
    assert through(loaded) == before == through(reloaded(loaded))
    assert chunker_of(nlp).model.copy().to_bytes() == chunker_of(nlp).model.to_bytes()


def test_a_config_with_another_name_goes_before_what_was_saved(tmp_path):
    """Of a name that the config no longer has, nothing is known."""
    nlp = renamed()
    config = nlp.config.copy()
    config["components"][NAME]["model"]["emissions"]["second"]["upstream"]["upstream"] = "third"
    nlp.rename_pipe(NEW, "third")
    config["nlp"]["pipeline"], config["components"]["third"] = ["third", NAME], config["components"].pop(NEW)
    fresh = spacy.util.load_model_from_config(config, auto_fill=True)
    for name in ("third", NAME):
        fresh.get_pipe(name).from_bytes(nlp.get_pipe(name).to_bytes())
    assert through(fresh) == through(nlp)
