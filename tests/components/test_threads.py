"""Threads that predict with one pipeline: whatever another one does between two lines, the result is the same."""

import sys

import pytest
from spacy.tokens import Doc

from spacy_hoseq.kept import Kept
from spacy_hoseq.layers.local_scores import BatchScores
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.patterns.same_word import SameWordPairs

from .bidirectional_helpers import ready as bidirectional
from .helpers import ready


def with_another_between(function, work, other):
    """What `work` returns if `other` runs before one of the lines of `function`, for each of its lines."""
    results, n_lines = [], 0
    while n_lines == len(results):
        left = len(results)

        def before_line(frame, event, arg):
            nonlocal left, n_lines
            if event == "line":
                if left == 0:
                    n_lines += 1
                    sys.settrace(None)
                    other()
                left -= 1
            return before_line

        sys.settrace(lambda frame, *_: before_line if frame.f_code is function.__code__ else None)  # noqa: B023
        try:
            results.append(work())
        finally:
            sys.settrace(None)
    return results[:-1]


@pytest.mark.parametrize("function", [BatchScores.__init__, BatchScores._of_types])
@pytest.mark.parametrize("forget", [True, False])
def test_scores_of_words_while_words_are_forgotten(forget, function):
    """A word type is another word then."""
    nlp = bidirectional()
    model = nlp.get_pipe("hoseq_bidirectional_tagger").model

    def tags(text):
        return [token.tag_ for token in nlp(text)]

    def other():
        if forget:
            scorer_of(model).forget_words()
        assert tags("a cat runs home .") == "D N V R .".split()

    def work():
        scorer_of(model).forget_words()
        return tags("the old dog sees a cat .")

    found = with_another_between(function, work, other)
    assert len(found) > 5 and all(labels == "D A N V D N .".split() for labels in found)


def test_mentions_while_they_are_first_looked_for():
    """Both of the two find them."""
    doc = Doc(ready().vocab, words=["a", "b", "a"])
    sources, found = [], []

    def find():
        return sources[-1].fire([doc]).tokens.tolist()

    def work():
        sources.append(SameWordPairs([["B"]], {}, 5))
        return find()

    def other():
        found.append(find())

    found += with_another_between(Kept.of, work, other)
    assert len(found) > 5 and all(tokens == [2] for tokens in found)
