"""Several processes: the labels are the same, whatever way processes begin."""

import multiprocessing
import pickle
import subprocess
import sys

import pytest
from spacy.tokens import DocBin, Token

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


READER = """
import sys
import spacy
from spacy.tokens import DocBin
{first}
docs = DocBin().from_disk(sys.argv[1]).get_docs({vocab})
print(*[len(doc._.hoseq_marginals["hoseq_tagger"]["probabilities"]) for doc in docs])
"""


@pytest.mark.parametrize(
    "first, vocab",
    [("import spacy_hoseq", "spacy.vocab.Vocab()"), ("", "spacy.blank('xx').vocab")],
    ids=["the package", "a pipeline"],
)
def test_marginals_are_read_in_a_new_process(first, vocab, tmp_path):
    """Of a DocBin, by who has loaded nothing else."""
    nlp = trained("log_likelihood", save_marginals=True)
    docs = list(nlp.pipe(TEXTS[:3]))
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "docs.spacy")
    script = READER.format(first=first, vocab=vocab)
    command = [sys.executable, "-c", script, str(tmp_path / "docs.spacy")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (result.stdout.split(), result.stderr) == ([str(len(doc)) for doc in docs], "")


APART = """
import sys
import spacy
if __name__ == "__main__":
    nlp = spacy.load(sys.argv[1])
    docs = list(nlp.pipe(["the old dog sees a cat ."] * 4, n_process=2, batch_size=1))
    print(*[token._.process_label for token in docs[0]])
    print(len(docs[3]._.hoseq_marginals["hoseq_tagger"]["probabilities"]))
"""


@pytest.mark.long
def test_extensions_of_two_processes_in_a_new_one(tmp_path, two_taggers):
    """What other processes have written is read where nothing was written."""
    two_taggers.to_disk(tmp_path / "model")
    script = tmp_path / "script.py"
    script.write_text(APART)
    command = [sys.executable, str(script), str(tmp_path / "model")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.stdout.split() == ["L"] * 7 + ["7"], result.stderr
