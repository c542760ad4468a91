"""Gold docs that are read once for a pipeline (corpus_cache.py), and predicted docs that are new at each reading."""

import os
from itertools import islice

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_hoseq.readers import corpora, corpus_cache
from spacy_hoseq.readers.corpora import corpus

WORDS, TAGS = ["a", "b", "c"], ["X", "Y", "Z"]


@pytest.fixture
def nlp():
    return spacy.blank("xx")


@pytest.fixture
def path(tmp_path, nlp):
    return write(tmp_path / "corpus.spacy", TAGS, TAGS[::-1])


@pytest.fixture
def n_read(monkeypatch):
    """Files read so far."""
    found = []
    plain = corpora.read_docs

    def counted(files, *rest):
        found.append(1)
        yield from plain(files, *rest)

    monkeypatch.setattr(corpora, "read_docs", counted)
    return found


def write(path, *taggings):
    vocab = spacy.blank("xx").vocab
    docs = [Doc(vocab, words=WORDS[: len(tags)], tags=tags) for tags in taggings]
    DocBin(docs=docs).to_disk(path)
    return path


def tags_of(examples):
    return [[token.tag_ for token in eg.reference] for eg in examples]


def test_what_is_written_on_predicted_docs_is_not_cached(path, nlp):
    for eg in corpus(path, attributes=[])(nlp):
        eg.predicted[0].tag_ = "W"
    assert not any(eg.predicted.has_annotation("TAG") for eg in corpus(path, attributes=[])(nlp))


def test_docs_that_were_not_all_read_are_not_cached(path, nlp, n_read):
    next(corpus(path, attributes=[])(nlp))
    assert tags_of(corpus(path, attributes=[])(nlp)) == [TAGS, TAGS[::-1]] and len(n_read) == 2
    assert tags_of(corpus(path, attributes=[], limit=1)(nlp)) == [TAGS] and len(n_read) == 3
    assert tags_of(corpus(path, attributes=[])(nlp)) == [TAGS, TAGS[::-1]] and len(n_read) == 3


@pytest.mark.parametrize("taggings", [[TAGS, TAGS], [TAGS[:1]]])
def test_a_file_that_was_written_again_is_read_again(path, nlp, taggings):
    """Of another size, or of the same size at another time."""
    before = path.stat()
    list(corpus(path, attributes=[])(nlp))
    write(path, *taggings)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert tags_of(corpus(path, attributes=[])(nlp)) == taggings
    assert tags_of(corpus(path, attributes=[])(nlp)) == taggings


def test_every_pipeline_has_docs_of_its_own_vocabulary(path, nlp):
    other = spacy.blank("xx")
    for pipeline in (nlp, other, nlp):
        examples = corpus(path, attributes=[])(pipeline)
        assert all(eg.reference.vocab is pipeline.vocab for eg in examples)


def cached_tags(nlp, path, max_tokens, limit=0):
    """Tags of the docs of a file, as the reader takes them from memory or from the file."""
    docs = islice(corpora.read_docs([path], nlp.vocab), limit or None)
    found = corpus_cache.cached(nlp, limit, [path], docs, max_tokens)
    return [[token.tag_ for token in doc] for doc in found]


def test_large_corpora_are_read_again(path, nlp, n_read):
    for _ in range(2):
        assert cached_tags(nlp, path, 5) == [TAGS, TAGS[::-1]]
    assert len(n_read) == 2, "six tokens"
    for _ in range(2):
        assert cached_tags(nlp, path, 5, limit=1) == [TAGS]
    assert len(n_read) == 3, "three tokens"
