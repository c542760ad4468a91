"""Measure a pipeline from raw text as the CoNLL 2018 shared task does: sentences, words and tags, by their characters.

    python experiments/released/measure_text.py MODEL TRAIN.spacy DEV.spacy OUTPUT.json [--unspaced] [--texts 10]

Raw text is made of the words of the corpus, `--texts` Docs in one; `--unspaced` writes them without spaces, but for one
between two of letters or digits. A word, or sentence, is right if both its ends are; a tag, if its word is, too. On
gold words: accuracy of tags, and the calibration error of their probabilities.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, DocBin, Token
from spacy.training import Example

from spacy_hoseq.readers.annotated import with_words
from spacy_hoseq.reporting.evaluation import evaluated
from spacy_hoseq.scorers import chunk_score
from spacy_hoseq.segmentation.units import are_parted

PASSES = 5
Span = tuple[int, int]


class Text(NamedTuple):
    """A raw text with its gold annotation, by characters that are no white space. words: where, and the token."""

    text: str
    words: dict[Span, Token]
    sentences: set[Span]


def main(
    model: Path, train: Path, dev: Path, output: Path, unspaced: bool = False, texts: int = 10
) -> None:
    nlp = spacy.load(model)
    gold = list(DocBin().from_disk(dev).get_docs(nlp.vocab))
    known = {token.text for doc in DocBin().from_disk(train).get_docs(nlp.vocab) for token in doc}
    raw = raw_texts(gold, texts, unspaced=unspaced)
    result: dict[str, Any] = {
        "tokens": sum(map(len, gold)),
        "texts": len(raw),
        **from_raw_text(nlp, raw, known),
    }
    result["gold_words"] = on_gold_words(nlp, gold, known)
    for name, change in {"lower": str.lower, "capitals": str.upper}.items():
        result[f"gold_words_{name}"] = on_gold_words(
            nlp, [with_words(doc, change) for doc in gold], known
        )
    if any(doc.spans.get("chunks") for doc in gold) and "hoseq_chunker" in nlp.pipe_names:
        examples = [
            Example(doc, reference)
            for doc, reference in zip(nlp.pipe(copies(gold)), gold, strict=True)
        ]
        result["chunks_f"] = chunk_score(examples)["spans_chunks_f"]
    if any(doc.ents for doc in gold) and "hoseq_entities" in nlp.pipe_names:
        examples = [
            Example(doc, reference)
            for doc, reference in zip(nlp.pipe(copies(gold)), gold, strict=True)
        ]
        result["names_f"] = Scorer.score_spans(examples, "ents")["ents_f"]
    result["calibration_error"] = calibration_errors(nlp, gold)
    result["tokens_per_second"], result["milliseconds_of_a_sentence"] = speed(
        nlp, raw, gold, unspaced=unspaced
    )
    result["load_seconds"] = statistics.median(
        timed(lambda: spacy.load(model)) for _ in range(PASSES)
    )
    result["model_bytes"] = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)


def written(docs: Sequence[Doc], *, unspaced: bool) -> str:
    """The words of some Docs as a text. unspaced: without spaces where words can do without."""
    text = ""
    for token in (token for doc in docs for token in doc):
        if unspaced and text and are_parted(text[-1], token.text[0]):
            text += " "
        text += token.text if unspaced else token.text_with_ws
    return text


def raw_texts(docs: Sequence[Doc], size: int, *, unspaced: bool) -> list[Text]:
    """Texts of so many Docs each."""
    texts = []
    for start in range(0, len(docs), size):
        group = docs[start : start + size]
        at, words, sentences = 0, {}, set()
        for doc in group:
            spans = []
            for token in doc:
                n = len("".join(token.text.split()))
                spans.append((at, at + n))
                if n:
                    words[at, at + n] = token
                at += n
            sentences |= {
                (spans[sentence.start][0], spans[sentence.end - 1][1]) for sentence in doc.sents
            }
        texts.append(Text(written(group, unspaced=unspaced), words, sentences))
    return texts


def characters(doc: Doc) -> list[Span]:
    """Where the tokens are, counted in characters that are no white space."""
    ends = np.cumsum([len("".join(token.text.split())) for token in doc]).tolist()
    return list(zip([0, *ends], ends, strict=False))


def from_raw_text(nlp: Language, texts: Sequence[Text], known: set[str]) -> dict[str, Any]:
    """F of words, of sentences, of words with their tag and part of speech; recall of words that are not known."""
    counts = {
        name: np.zeros(3, int) for name in ("words", "sentences", "tags", "pos")
    }  # right, guessed, gold
    unknown = np.zeros(2, int)
    for text, doc in zip(texts, nlp.pipe([text.text for text in texts]), strict=True):
        spans = characters(doc)
        guesses = {span: token for span, token in zip(spans, doc, strict=True) if span[0] < span[1]}
        right = guesses.keys() & text.words.keys()
        ends = [len(right), len(guesses), len(text.words)]
        counts["words"] += ends
        counts["tags"] += [
            sum(guesses[span].tag == text.words[span].tag for span in right),
            *ends[1:],
        ]
        counts["pos"] += [
            sum(guesses[span].pos == text.words[span].pos for span in right),
            *ends[1:],
        ]
        new = {span for span, token in text.words.items() if token.text not in known}
        unknown += [len(new & right), len(new)]
        if doc.has_annotation("SENT_START"):
            found = {(spans[s.start][0], spans[s.end - 1][1]) for s in doc.sents} - {
                span for span in spans if not span
            }
            counts["sentences"] += [len(found & text.sentences), len(found), len(text.sentences)]
    scores = {name: scores_of(*of_name.tolist()) for name, of_name in counts.items()}
    return {
        **scores,
        "unknown_words": int(unknown[1]),
        "unknown_recall": unknown[0] / max(1, unknown[1]),
    }


def scores_of(right: int, guessed: int, gold: int) -> dict[str, float]:
    return {
        "p": right / max(1, guessed),
        "r": right / max(1, gold),
        "f": 2 * right / max(1, guessed + gold),
    }


def copies(docs: Iterable[Doc]) -> list[Doc]:
    """The same words and sentences, without other annotation."""
    made = []
    for doc in docs:
        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        made.append(
            Doc(doc.vocab, words, spaces, sent_starts=[bool(token.is_sent_start) for token in doc])
        )
    return made


def on_gold_words(nlp: Language, gold: Sequence[Doc], known: set[str]) -> dict[str, float]:
    """Accuracy of tags, parts of speech, features and lemmas, of all words and of those that are not known."""
    pairs = [
        (a, b)
        for doc, of in zip(nlp.pipe(copies(gold)), gold, strict=True)
        for a, b in zip(doc, of, strict=True)
    ]
    new = [(a, b) for a, b in pairs if b.text not in known]
    shares = {}
    for name in ("tag", "pos", "morph", "lemma"):
        for kind, some in (("", pairs), ("new_", new)):
            shares[kind + name] = float(
                np.mean([getattr(a, name) == getattr(b, name) for a, b in some])
            )
    return shares


def calibration_errors(nlp: Language, gold: Sequence[Doc]) -> dict[str, float]:
    """Of each tagger: |accuracy - mean probability|, averaged over bins, on every second Doc: those before them fitted
    the probabilities (calibrate.py)."""
    held_out = gold[1::2]
    examples = [
        Example(doc, reference) for doc, reference in zip(copies(held_out), held_out, strict=True)
    ]
    layers = evaluated(nlp, examples)
    return {
        layer["component"]: layer["calibration"]["ece"]
        for layer in layers
        if layer["attribute"] in ("tag", "pos")
    }


def speed(
    nlp: Language, raw: Sequence[Text], gold: Sequence[Doc], *, unspaced: bool
) -> tuple[float, float]:
    """Gold words a second from raw text, and milliseconds of one sentence alone: medians of several passes."""
    texts = [text.text for text in raw]
    seconds = statistics.median(timed(lambda: list(nlp.pipe(texts))) for _ in range(PASSES))
    single = [
        timed(lambda text=text: nlp(text))
        for text in (written([doc], unspaced=unspaced) for doc in gold[:200])
    ]
    return sum(map(len, gold)) / seconds, 1000 * statistics.median(single)


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    typer.run(main)
