"""Several processes: the labels are the same, whatever way processes begin."""

import multiprocessing
import pickle
import subprocess
import sys

import pytest
from spacy.tokens import Token

from .helpers import CORPUS, examples_of, gold, ready, tagger_model, trained

TEXTS = [text for text, _ in CORPUS] * 4 + ["", "unseen words", "\n"]

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


@pytest.fixture
def start_method(request):
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    multiprocessing.set_start_method(before, force=True)


def tags(docs):
    return [[token.tag_ for token in doc] for doc in docs]


@pytest.mark.long
@pytest.mark.parametrize("start_method", ["fork", "spawn"], indirect=True)
def test_labels_of_two_processes(start_method):
    nlp = ready("all patterns")
    expected = tags(nlp.pipe(TEXTS))
    assert tags(nlp.pipe(TEXTS, n_process=2, batch_size=5)) == expected
    assert expected[:6] == gold()


@pytest.mark.long
@pytest.mark.parametrize("start_method", ["spawn"], indirect=True)
def test_extensions_and_marginals_of_two_processes(start_method):
    nlp = trained("log_likelihood", save_marginals=True)
    data = [(doc, i) for i, doc in enumerate(TEXTS)]
    single = list(nlp.pipe(TEXTS))
    both = list(nlp.pipe(data, n_process=2, batch_size=5, as_tuples=True))
    assert [i for _, i in both] == list(range(len(TEXTS)))
    for doc, i in both:
        ours, theirs = doc._.hoseq_marginals["hoseq_tagger"], single[i]._.hoseq_marginals["hoseq_tagger"]
        assert ours["probabilities"] == pytest.approx(theirs["probabilities"], abs=1e-6)
        assert tuple(ours["labels"]) == tuple(theirs["labels"])


SCRIPT = """
import pickle, sys
path, kind = sys.argv[1:]
if kind == "pickle":
    with open(path, "rb") as file:
        nlp = pickle.load(file)
else:
    import spacy
    nlp = spacy.load(path)
doc = nlp("the old dog sees a cat .")
print(" ".join(token._.process_label + "/" + token.tag_ for token in doc))
print(doc._.hoseq_marginals["hoseq_tagger"]["labels"][0])
"""


@pytest.fixture
def two_taggers():
    """One tagger saves marginals, the other writes an extension."""
    nlp = trained("log_likelihood", save_marginals=True)
    second = nlp.add_pipe("hoseq_tagger", "second", config={"model": tagger_model(), "attribute": "_.process_label"})
    second.add_label("L")
    second.initialize(lambda: examples_of(nlp))
    yield nlp
    Token.remove_extension("process_label")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["pickle", "disk"])
def test_new_process(kind, tmp_path, two_taggers):
    """A pickled or loaded pipeline must register the extensions that it writes to: they are not part of a Doc."""
    path = tmp_path / kind
    if kind == "pickle":
        path.write_bytes(pickle.dumps(two_taggers))
    else:
        two_taggers.to_disk(path)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(path), kind], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.stderr == ""
    assert result.stdout.split() == [f"L/{tag}" for tag in gold()[0]] + ["."]
