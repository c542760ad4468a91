"""`spacy_hoseq.CharacterTokenizer.v1`: a tokenizer for texts without spaces, by a trained tagger of
characters."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, to_bytes, to_disk
from spacy.vocab import Vocab
from thinc.api import Config

from ..components.tagger import HoseqTagger
from ..errors import Errors
from ..features.simplified import in_simplified
from ..pipelines.loading import load_from
from .decoding import WordBounds, WordLabels, unit_doc
from .units import ADDRESS, inner_cuts, units_of_each

SEGMENTER_FOLDER = "segmenter"


def make_character_tokenizer(
    simplified: bool = False, addresses: bool = False
) -> Callable[[Language], "CharacterTokenizer"]:
    """A tokenizer that cuts text into words by a tagger of characters, for [nlp.tokenizer].

    Sentences begin where the labels of the segmenter say so, or else after 。！？ and at line breaks.

    simplified (bool): for a segmenter trained on simplified Chinese characters: it sees traditional
        characters as simplified ones; the text stays as written. addresses (bool): keep web and
        e-mail addresses whole.
    """

    def make(nlp: Language) -> "CharacterTokenizer":
        return CharacterTokenizer(nlp.vocab, simplified=simplified, addresses=addresses)

    return make


class CharacterTokenizer:
    """A tokenizer: words are the best labelling of a text's units (units.py) by a trained
    `hoseq_tagger`.

    vocab (Vocab): the shared vocabulary. simplified, addresses (bool): as above.

    It holds the pipeline of that tagger, which it saves and reads as spaCy does any other.
    """

    def __init__(self, vocab: Vocab, *, simplified: bool = False, addresses: bool = False) -> None:
        self.vocab = vocab
        self.simplified = simplified
        self.addresses = addresses
        self.segmenter: Language | None = None

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]] | None = None,
        *,
        nlp: Language | None = None,
        segmenter: str | Path | None = None,
        pkuseg_model: str | None = None,
        pkuseg_user_dict: str | None = None,
    ) -> None:
        """Take the tagger of a trained pipeline: [initialize.tokenizer] of the config.

        segmenter: the pipeline, a folder or an installed package; None = the one that is there.
        get_examples, nlp: not used; spaCy passes them. pkuseg_model, pkuseg_user_dict: not used;
        every Chinese config of spaCy has them.
        RAISES ValueError [HS120]: there is none; [HS121]: it has no tagger of units.
        """
        if segmenter is not None:
            self.use(load_from(segmenter))
        elif self.segmenter is None:
            raise ValueError(Errors.HS120)

    def use(self, segmenter: Language) -> None:
        """Cut with the tagger of this pipeline. RAISES ValueError [HS121]: it has no tagger of
        units."""
        taggers: list[HoseqTagger] = []
        for _, pipe in segmenter.pipeline:
            if isinstance(pipe, HoseqTagger) and pipe.labels:
                taggers.append(pipe)
        if len(taggers) != 1:
            problem = f"{len(taggers)} components `hoseq_tagger` with labels in it"
            raise ValueError(Errors.HS121.format(problem=problem))
        try:
            self._labels = WordLabels(taggers[0].labels)
        except ValueError as error:
            raise ValueError(Errors.HS121.format(problem=error)) from error
        self.segmenter = segmenter
        self._tagger = taggers[0]
        self._cuts = inner_cuts(segmenter.vocab)

    def __call__(self, text: str) -> Doc:
        """The Doc of a text. RAISES ValueError [HS120]: no segmenter."""
        return self._docs([text])[0]

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """Docs of texts, in order; `batch_size` of them, or about 20,000 characters, are cut
        together."""
        batch: list[str] = []
        for text in texts:
            batch.append(text)
            # enough for the decoder to work at its full speed
            if len(batch) >= batch_size or sum(map(len, batch)) >= 20_000:
                yield from self._docs(batch)
                batch = []
        yield from self._docs(batch)

    def _docs(self, texts: Sequence[str]) -> list[Doc]:
        """The Docs of a batch of texts."""
        if self.segmenter is None:
            raise ValueError(Errors.HS120)
        units = [*units_of_each(texts, self._cuts, ADDRESS if self.addresses else None)]
        # labels that mark last words decide over sentences alone
        by_signs = not self._labels.last.any()
        docs: list[Doc] = []
        for text, text_units in zip(texts, units, strict=True):
            if self.simplified:
                text = in_simplified(text)
            docs.append(unit_doc(self.segmenter.vocab, text, text_units, by_signs))
        words = self._labels.best(self._tagger.model, docs, units)
        return list(map(self._doc, texts, words))

    def _doc(self, text: str, words: WordBounds) -> Doc:
        """The Doc of a text's words. White space as in spaCy: one space belongs to the word before
        it, any other is a token."""
        tokens: list[tuple[str, bool, bool]] = []  # text, a space after it, begins a sentence
        # end of what is written so far
        at = 0
        for start, end, begins in zip(*(column.tolist() for column in words), strict=True):
            if start > at:
                tokens.append((text[at:start], False, at == 0))
            has_space = text[end : end + 1] == " "
            tokens.append((text[start:end], has_space, begins and (at > 0 or start == 0)))
            at = end + has_space
        if at < len(text):
            tokens.append((text[at:], False, at == 0))
        if not tokens:
            return Doc(self.vocab)
        texts, spaces, starts = map(list, zip(*tokens, strict=True))
        return Doc(self.vocab, texts, spaces, sent_starts=starts)

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[Any]:
        """A memory zone of the segmenter as well, so that it forgets characters. spaCy calls it."""
        with self.segmenter.memory_zone() if self.segmenter else nullcontext():
            yield mem

    def score(self, examples: Iterable[Example]) -> dict[str, Any]:
        """`token_f`, `token_p`, `token_r`: of words; `token_acc` (spaCy's scorer)."""
        return Scorer.score_tokenization(examples)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Bytes of the segmenter: its config and its components."""
        parts: dict[str, Callable[[], Any]] = {}
        if self.segmenter is not None:
            parts = {"config": self.segmenter.config.to_bytes, "pipeline": self.segmenter.to_bytes}
        return to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "CharacterTokenizer":
        """The tokenizer, with the segmenter of the data. RAISES ValueError [HS064]: they cannot be
        read."""
        with _refusing("bytes"):
            parts = srsly.msgpack_loads(bytes_data)
            self.segmenter = None
            if parts:
                config = Config().from_bytes(parts["config"], interpolate=False)
                self.use(load_model_from_config(config).from_bytes(parts["pipeline"]))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """A folder, in it the segmenter as spaCy saves any pipeline."""
        parts: dict[str, Callable[[Path], None]] = {}
        if self.segmenter is not None:
            parts[SEGMENTER_FOLDER] = self.segmenter.to_disk
        to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "CharacterTokenizer":
        """The tokenizer, with the segmenter of a folder. RAISES ValueError [HS064]: it cannot be
        read."""
        folder = Path(path) / SEGMENTER_FOLDER
        with _refusing(str(path)):
            self.segmenter = None
            # a folder without a segmenter is a tokenizer that has none yet
            if folder.exists() or not Path(path).is_dir():
                self.use(load_from(folder))
        return self


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    """Errors become [HS064], which names the part of a pipeline that cannot be read."""
    try:
        yield
    except Exception as error:
        message = Errors.HS064.format(name="tokenizer", where=where, problem=error)
        raise ValueError(message) from error
