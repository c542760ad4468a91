"""Files that were changed anywhere: what loads says what it said before, everything else is refused with a code.

A hundred changes of each component, 300 with `--all`, 3,000 with `--slow`.
"""

import copy
import json
import warnings

import numpy as np
import pytest
import srsly

from . import bidirectional_helpers as bidirectional
from . import chunker_helpers as chunks
from . import helpers as tags

LEAVES = [None, True, 0, 1, -1, 255, 2**31, 2**63, 0.5, "", "x", "bilou", "iob2", "N", b"", b"\x00", [], {}, ["N"]]


NAMES = ["hoseq_tagger", "upstream_tagger", "hoseq_bidirectional_tagger", "hoseq_chunker"]
TEXTS = [*(text for text, _ in tags.CORPUS), *chunks.TEXTS, "the unseen Zebra runs", "cat"]


def pipelines(make):
    """One with each of the components. make: of a module of helpers, what makes a pipeline: "blank" or "trained"."""
    return {
        "hoseq_tagger": getattr(tags, make)("frequent", save_marginals=True),
        "hoseq_bidirectional_tagger": getattr(bidirectional, make)(
            model=bidirectional.local(order=1), save_decisions=True
        ),
        "hoseq_chunker": getattr(chunks, make)("joint", save_marginals=True, tagger={"save_marginals": True}),
    }


def trained_pipelines():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[HW003\]")  # marginals of a margin
        return pipelines("trained")


def components(nlps):
    """By the folder they are saved in."""
    upstream = nlps["hoseq_chunker"].get_pipe("hoseq_tagger")
    return {**{name: nlp.get_pipe(name) for name, nlp in nlps.items()}, "upstream_tagger": upstream}


def said(nlps):
    """What the pipelines say of each text: labels, chunks, and all their numbers, which JSON keeps to the last bit."""
    return {name: [_of(doc) for doc in nlp.pipe(_docs(nlp))] for name, nlp in nlps.items()}


def _docs(nlp):
    return [tags.doc_of(nlp, text) for text in TEXTS]


def _of(doc):
    found = {"words": [token.text for token in doc], "tags": [token.tag_ for token in doc]}
    if "chunks" in doc.spans:
        found["chunks"] = [[span.start, span.end, span.label_] for span in doc.spans["chunks"]]
        found["scores"] = doc.spans["chunks"].attrs["scores"].tolist()
    for extension in ("hoseq_marginals", "hoseq_decisions"):
        for name, kept in (doc._.get(extension) or {} if doc.has_extension(extension) else {}).items():
            found[f"{extension} {name}"] = {key: np.asarray(value).tolist() for key, value in kept.items()}
    return found


@pytest.fixture(scope="module")
def trained():
    nlps = trained_pipelines()
    for nlp in nlps.values():
        for _, pipe in nlp.pipeline:
            if "tag_dictionary" in pipe.cfg:
                pipe.cfg["tag_dictionary"] = {"the": ["D"], "unseen": ["A", "N"]}
                pipe._labels_changed()
    return nlps


@pytest.fixture(scope="module")
def saved(trained, tmp_path_factory):
    """The files of each component, and what its pipeline says."""
    folder, files = tmp_path_factory.mktemp("saved"), {}
    for name, pipe in components(trained).items():
        pipe.to_disk(folder / name, exclude=["vocab"])
        files[name] = {part: (folder / name / part).read_bytes() for part in ("cfg", "model")}
    return files, said(trained)


class Loader:
    """Loads files into a component that knows nothing of those before."""

    def __init__(self, name, trained, folder):
        self.name, self.folder, self.nlps = name, folder, trained
        self.pipe = components(trained)[name]
        self.blank = components(pipelines("blank"))[name]
        self.pipeline = "hoseq_chunker" if name == "upstream_tagger" else name

    def says(self, files):
        """What the pipeline says with these files; None if they are refused."""
        for part, data in files.items():
            (self.folder / part).write_bytes(data)
        kept = self.pipe.model, self.pipe.cfg
        self.pipe.model, self.pipe.cfg = self.blank.model.copy(), copy.deepcopy(self.blank.cfg)
        try:
            self.pipe.from_disk(self.folder, exclude=["vocab"])
            return said({self.pipeline: self.nlps[self.pipeline]})[self.pipeline]
        except ValueError as error:
            assert "[HS064]" in str(error), error
            return None
        finally:
            self.pipe.model, self.pipe.cfg = kept
            self.pipe._labels_changed()


@pytest.fixture
def loader(request, trained, tmp_path):
    return Loader(request.param, trained, tmp_path)


each = pytest.mark.parametrize("loader", NAMES, indirect=True)


# Changes of bytes: of one place, of a block, of two.


def bit(data, rng):
    at = int(rng.integers(len(data)))
    return data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]


def byte(data, rng):
    at = int(rng.integers(len(data)))
    return data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :]


def cut(data, rng):
    return data[: int(rng.integers(len(data)))]


def block(rng, data):
    first = int(rng.integers(len(data)))
    return first, min(len(data), first + int(rng.integers(1, 40)))


def left_out(data, rng):
    first, end = block(rng, data)
    return data[:first] + data[end:]


def twice(data, rng):
    first, end = block(rng, data)
    return data[:end] + data[first:]


def zeros(data, rng):
    first, end = block(rng, data)
    return data[:first] + bytes(end - first) + data[end:]


def swapped(data, rng):
    size = int(rng.integers(1, 40))
    first, second = sorted(rng.integers(0, max(1, len(data) - size), 2).tolist())
    second = max(second, first + size)
    between = data[first + size : second]
    return data[:first] + data[second : second + size] + between + data[first : first + size] + data[second + size :]


def more(data, rng):
    return data + rng.bytes(int(rng.integers(1, 50)))


# Changes of what the bytes say: of one value somewhere in the tree.


def places(tree, path=()):
    yield path
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def changed_tree(tree, rng):
    tree = copy.deepcopy(tree)
    path = [*places(tree)][int(rng.integers(1, len([*places(tree)])))]
    parent = tree
    for key in path[:-1]:
        parent = parent[key]
    kind, value = int(rng.integers(6)), parent[path[-1]]
    if kind == 0:
        del parent[path[-1]]
    elif kind == 1 and isinstance(value, list):
        parent[path[-1]] = [value[i] for i in rng.permutation(len(value))]
    elif kind == 2 and isinstance(parent, dict):
        parent[f"{path[-1]}x"] = parent.pop(path[-1])
    elif kind == 3 and isinstance(value, bytes) and value:
        parent[path[-1]] = bit(value, rng)
    elif kind == 4 and isinstance(value, (int, float)):
        parent[path[-1]] = value + 1
    else:
        parent[path[-1]] = LEAVES[int(rng.integers(len(LEAVES)))]
    return tree


def value_of_json(data, rng):
    tree = json.loads(data)
    for _ in range(10):  # (JSON has no bytes)
        try:
            return json.dumps(changed_tree(tree, rng)).encode()
        except TypeError:
            pass
    return data


def value_of_msgpack(data, rng):
    return srsly.msgpack_dumps(changed_tree(srsly.msgpack_loads(data), rng))


def value_of_layer(data, rng):
    """With the digest as it was, or without it."""
    message = srsly.msgpack_loads(data)
    layers = [i for i, shims in enumerate(message["shims"]) if shims]
    i = layers[int(rng.integers(len(layers)))]
    message["shims"][i] = [srsly.msgpack_dumps(changed_tree(srsly.msgpack_loads(message["shims"][i][0]), rng))]
    if rng.random() < 0.3:
        del message["digest"]
    return srsly.msgpack_dumps(message)


def labels(data, rng):
    """Permuted, swapped, renamed, given twice, one more, one less."""
    cfg = json.loads(data)
    names, i = cfg["labels"], int(rng.integers(len(cfg["labels"])))
    cfg["labels"] = [
        [names[j] for j in rng.permutation(len(names))],
        [*names[:i], *names[i:][::-1]],
        [*names[:i], f"{names[i]}X", *names[i + 1 :]],
        [*names[:i], names[0], *names[i + 1 :]],
        [*names, "X"],
        names[:i] + names[i + 1 :],
    ][int(rng.integers(6))]
    return json.dumps(cfg).encode()


BYTES = [bit, bit, byte, cut, left_out, twice, zeros, swapped, more]
CHANGES = {"cfg": [*BYTES, value_of_json, labels, labels], "model": [*BYTES, value_of_msgpack, value_of_layer]}


@pytest.mark.long
@each
def test_what_was_changed_is_refused_or_says_the_same(loader, saved, request):
    files, then = saved
    n = 3_000 if request.config.getoption("--slow") else 300 if request.config.getoption("--all") else 100
    rng, refused = np.random.default_rng(NAMES.index(loader.name)), 0
    own, expected = files[loader.name], json.loads(json.dumps(then[loader.pipeline]))
    assert json.loads(json.dumps(loader.says(own))) == expected
    for _ in range(n):
        part = "cfg" if rng.random() < 0.4 else "model"
        change = CHANGES[part][int(rng.integers(len(CHANGES[part])))]
        data = change(own[part], rng)
        now = loader.says({**own, part: data})
        assert now is None or json.loads(json.dumps(now)) == expected, (part, change.__name__)
        refused += now is None
        if part == "model" and data != own["model"]:
            assert now is None, change.__name__
    assert refused > n / 2
