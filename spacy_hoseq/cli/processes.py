"""Processes that annotate texts.

In `nlp.pipe(n_process=2)`, and so in spaCy's own `apply`, every Doc goes as bytes to the process that asked for it and
is made anew there, which costs more than to tokenize and tag it. Here a process takes texts a share at a time and
writes what it makes of them to a file of its own.
"""

from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Deque, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

import spacy
from spacy.cli._util import import_code
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..errors import Errors
from ..pipelines import found_at
from ..readers.sentences import Problem
from ..readers.texts import Share, Text

AHEAD = 2  # shares for each process that are read before they are wanted
ZONE_TOKENS = 1_000_000  # after which a process forgets the words that it has met (`nlp.memory_zone`)
HALF = ".part"  # of a file that is being written
META = "meta"  # the key of `doc.user_data` for what a line of .jsonl has beside the text


class Done(NamedTuple):
    """What has become of a share: numbers of Docs, tokens and files written; what was left out."""

    docs: int
    tokens: int
    files: int
    problems: List[Problem]


class Pipeline:
    """A loaded pipeline. A process that is no fork of this one loads it for itself.

    model (str): a directory or package, or "en", "zh". code (Path): a Python file that it needs.
    """

    def __init__(self, model: str, code: Optional[Path]) -> None:
        import_code(code)
        self._loaded_from = model, code
        self.nlp = spacy.load(found_at(model))
        self._zone, self._room = ExitStack(), 0

    def remember(self, n_tokens: int) -> None:
        """The words of so many tokens more, or forget all: no Doc made before may be in use any more."""
        self._room -= n_tokens
        if self._room <= 0:
            self._zone.close()
            self._zone.enter_context(self.nlp.memory_zone())
            self._room = ZONE_TOKENS

    def __reduce__(self) -> Any:
        return Pipeline, self._loaded_from


_taken: List[Pipeline] = []  # by this process, which annotates for another one


def annotated(pipeline: Pipeline, todo: Iterable[Share], output: Path, n_process: int) -> Iterator[Done]:
    """Write the Docs of each share to a file of the folder, numbered from 0. RETURNS what has become of them, in order.

    RAISES ValueError [HS114]: a process has ended.
    """
    named = ((share, output / f"{number:06}.spacy") for number, share in enumerate(todo))
    if n_process == 1:
        yield from (annotate(pipeline, share, file) for share, file in named)
        return
    waiting: Deque[Future[Done]] = deque()
    with ProcessPoolExecutor(n_process, initializer=_take, initargs=(pipeline,)) as pool:
        try:
            for share, file in named:
                waiting.append(pool.submit(_annotate, share, file))
                if len(waiting) > n_process * (1 + AHEAD):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise ValueError(Errors.HS114.format(problem=error)) from error
        finally:
            pool.shutdown(cancel_futures=True)
            for half in output.glob(f"*{HALF}"):  # by processes that were ended
                half.unlink()


def _take(pipeline: Pipeline) -> None:
    _taken.append(pipeline)


def _annotate(share: Share, file: Path) -> Done:
    return annotate(_taken[-1], share, file)


def annotate(pipeline: Pipeline, share: Share, file: Path) -> Done:
    """Write the Docs of a share, if there are any."""
    pipeline.remember(0)
    problems = list(share.problems)
    docs = _docs(pipeline.nlp, share, problems)
    if docs:
        part = file.with_suffix(HALF)  # never half a file under the name of a whole one
        DocBin(docs=docs, store_user_data=any(doc.user_data for doc in docs)).to_disk(part)
        part.replace(file)
    done = Done(len(docs), sum(map(len, docs)), int(len(docs) > 0), problems)
    del docs
    pipeline.remember(done.tokens)
    return done


def _docs(nlp: Language, share: Share, problems: List[Problem]) -> List[Doc]:
    """Annotated all at once, or if that fails, those that can be, one by one."""
    try:
        found = list(nlp.pipe(_given(nlp, share), as_tuples=True))
    except Exception:  # whatever a component of any package raises
        found = list(_one_by_one(nlp, share, problems))
    for doc, source in found:
        if source.meta:
            doc.user_data[META] = source.meta
    return [doc for doc, _ in found]


def _one_by_one(nlp: Language, share: Share, problems: List[Problem]) -> Iterator[Tuple[Doc, Text]]:
    try:
        given = list(_given(nlp, share))
    except Exception as error:
        problems.append(Problem(share.docs or Path(), 1, str(error), "a .spacy file"))
        return
    for one, source in given:
        try:
            yield nlp(one), source
        except Exception as error:
            problems.append(Problem(source.path, source.line, str(error), "a text for this pipeline"))


def _given(nlp: Language, share: Share) -> Iterator[Tuple[Union[str, Doc], Text]]:
    """What is to be annotated, and where it comes from."""
    for source in share.texts or ():
        yield source.text, source
    if share.docs is not None:
        for number, doc in enumerate(DocBin().from_disk(share.docs).get_docs(nlp.vocab), 1):
            yield doc, Text(share.docs, number, "", {})
