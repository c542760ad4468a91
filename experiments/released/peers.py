"""Others at what the pipelines of the package do, trained on the same texts where they can be.

    python peers.py entities CHUNKS.spacy ENTITIES.spacy
    python peers.py pkuseg TRAIN.spacy DEV.spacy MODEL
    python peers.py udpipe TRAIN.conllu DEV.conllu MODEL
    python peers.py english MODEL SENTER NER OUTPUT.json NAME=DEV.spacy ...
    python peers.py names NAME=MODEL ... --text NAME=DEV.spacy ... --output OUTPUT.json
    python peers.py chinese MODEL PKUSEG UDPIPE DEV.spacy OUTPUT.json
    python peers.py page PAGE.md MEASURED.json ...

Sentences and words are measured from raw text by measure_text.py; chunks and names on gold words. Needs spacy-pkuseg
1.0.2, ufal.udpipe 1.4.0.1 and jieba 0.42.1.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
import typer
from measure_text import Text, copies, from_raw_text, raw_texts, scores_of
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from wasabi import MarkdownRenderer

from spacy_hoseq.scorers import chunk_score
from spacy_hoseq.segmentation.units import are_parted

app = typer.Typer()
Row = dict[str, Any]  # what, who, on what, F or seconds
BEGIN, END = "<!-- begin peers -->", "<!-- end peers -->"


def docs_in(path: Path, nlp: Language) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(nlp.vocab))


@app.command()
def entities(chunks: Path, output: Path) -> None:
    """The same Docs with their chunks as entities, which is where spaCy's `ner` finds them."""
    docs = docs_in(chunks, spacy.blank("en"))
    for doc in docs:
        doc.set_ents(list(doc.spans["chunks"]))
    DocBin(docs=docs).to_disk(output)


@app.command()
def pkuseg(train: Path, dev: Path, model: Path) -> None:
    import spacy_pkuseg

    model.mkdir(parents=True, exist_ok=True)
    files = []
    for path in (train, dev):
        lines = [" ".join(token.text for token in doc) for doc in docs_in(path, spacy.blank("zh"))]
        files.append(model / f"{path.stem}.txt")
        files[-1].write_text("\n".join(lines) + "\n", encoding="utf8")
    spacy_pkuseg.train(str(files[0]), str(files[1]), str(model / "model"))


@app.command()
def udpipe(train: Path, dev: Path, model: Path) -> None:
    """Only the tokenizer, with the settings that its makers name as the usual ones."""
    from ufal import udpipe as peer

    parts = []
    for path in (train, dev):
        reader, sentences, sentence = (
            peer.InputFormat.newConlluInputFormat(),
            peer.Sentences(),
            peer.Sentence(),
        )
        reader.setText(path.read_text(encoding="utf8"))
        while reader.nextSentence(sentence, peer.ProcessingError()):
            forms = [word.form for word in sentence.words]  # the first is the root
            for i in range(1, len(forms)):  # by their places: a walk over the words gives copies
                has_space = i + 1 < len(forms) and are_parted(forms[i][-1], forms[i + 1][0])
                sentence.words[i].setSpaceAfter(has_space)
            sentences.push_back(sentence)
            sentence = peer.Sentence()
        parts.append(sentences)
    problem, none = peer.ProcessingError(), peer.Trainer.NONE
    data = peer.Trainer.train(
        "morphodita_parsito", *parts, peer.Trainer.DEFAULT, none, none, problem
    )
    if problem.occurred():
        raise RuntimeError(problem.message)
    model.parent.mkdir(parents=True, exist_ok=True)
    model.write_bytes(data)


@app.command()
def english(
    model: Path, senter: Path, ner: Path, dev: list[str], output: Path = typer.Option(...)
) -> None:
    """F of sentences from raw text, texts that run on, and of chunks on gold words."""
    ours, found = spacy.load(model), spacy.load(ner)
    sentencizer = spacy.blank("en")
    sentencizer.add_pipe("sentencizer")
    rows: list[Row] = []
    for name, _, path in (one.partition("=") for one in dev):
        gold = docs_in(Path(path), ours)
        texts = raw_texts(gold, 1, unspaced=False)
        for who, nlp in (
            ("ours", ours),
            ("spaCy sentencizer", sentencizer),
            ("spaCy senter", spacy.load(senter)),
        ):
            rows.append(
                row(
                    "sentences, raw text",
                    name,
                    who,
                    from_raw_text(nlp, texts, set())["sentences"]["f"],
                )
            )
        if any(doc.spans.get("chunks") for doc in gold):
            examples = [
                Example(doc, of) for doc, of in zip(ours.pipe(copies(gold)), gold, strict=True)
            ]
            rows.append(
                row("chunks, gold words", name, "ours", chunk_score(examples)["spans_chunks_f"])
            )
            docs = list(found.pipe(copies(docs_in(Path(path), found))))
            for doc in docs:
                doc.spans["chunks"] = list(doc.ents)
            examples = [
                Example(doc, of) for doc, of in zip(docs, docs_in(Path(path), found), strict=True)
            ]
            rows.append(
                row(
                    "chunks, gold words", name, "spaCy ner", chunk_score(examples)["spans_chunks_f"]
                )
            )
        times = {
            "spaCy tokenizer": spacy.blank("en"),
            "ours, sentences and tags": spacy.load(model, exclude=[*ANALYSES, "hoseq_chunker"]),
            "ours, and chunks": spacy.load(model, exclude=ANALYSES),
            "ours, all": spacy.load(model),
        }
        rows += [
            row("seconds of new text", name, who, seconds)
            for who, seconds in new_text(times, texts).items()
        ]
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, rows)


@app.command()
def names(
    models: list[str], text: list[str] = typer.Option(...), output: Path = typer.Option(...)
) -> None:
    """F of names on gold words, of the types that a text has."""
    rows: list[Row] = []
    for who, _, model in (one.partition("=") for one in models):
        nlp = spacy.load(model)
        for name, _, path in (one.partition("=") for one in text):
            gold = docs_in(Path(path), nlp)
            types = {span.label_ for doc in gold for span in doc.ents}
            score = PRFScore()
            for doc, of in zip(nlp.pipe(copies(gold)), gold, strict=True):
                found = {
                    (span.start, span.end, span.label_) for span in doc.ents if span.label_ in types
                }
                score.score_set(found, {(span.start, span.end, span.label_) for span in of.ents})
            rows.append(row("names, gold words", name, who, score.fscore))
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, rows)


def new_text(pipelines: dict[str, Language], texts: Sequence[Text]) -> dict[str, float]:
    """CPU seconds of each over texts that it has not seen: only the first pass counts, after one over made-up words."""
    seconds = {}
    for who, nlp in pipelines.items():
        list(nlp.pipe(["Nothing of it was known before , said nobody ."] * 50))
        start = time.process_time()
        list(nlp.pipe([text.text for text in texts]))
        seconds[who] = time.process_time() - start
    return seconds


@app.command()
def chinese(
    model: Path, pkuseg_model: Path, udpipe_model: Path, dev: Path, output: Path = typer.Option(...)
) -> None:
    """F of words from raw text, one sentence each, and words a second."""
    import jieba
    import spacy_pkuseg
    from ufal import udpipe as peer

    jieba.initialize()
    ours = spacy.load(model)
    gold = docs_in(dev, ours)
    texts = raw_texts(gold, 1, unspaced=True)
    loaded = peer.Model.load(str(udpipe_model))  # which has to outlive its tokenizer
    trained = loaded.newTokenizer(peer.Model.DEFAULT)

    def udpipe_words(text: str) -> list[str]:
        words, sentence = [], peer.Sentence()
        trained.setText(text)
        while trained.nextSentence(sentence, peer.ProcessingError()):
            words += [word.form for word in list(sentence.words)[1:]]
        return words

    ways: dict[str, Callable[[str], Iterable[str]]] = {
        "ours": lambda text: [token.text for token in ours.tokenizer(text)],
        "jieba, its own dictionary": jieba.lcut,
        "pkuseg, trained on the same": spacy_pkuseg.pkuseg(
            str(pkuseg_model / "model"), user_dict=None
        ).cut,
        "UDPipe 1, trained on the same": udpipe_words,
    }
    rows: list[Row] = []
    for who, cut in ways.items():
        start, counts = time.process_time(), np.zeros(3, int)
        for text in texts:
            ends, at = set(), 0
            for word in cut(text.text):
                n = len("".join(word.split()))
                ends |= {(at, at + n)} if n else set()
                at += n
            counts += [len(ends & text.words.keys()), len(ends), len(text.words)]
        seconds = time.process_time() - start
        rows.append(row("words, raw text", "GSD dev", who, scores_of(*counts.tolist())["f"]))
        rows.append(row("words a second", "GSD dev", who, counts[2] / seconds))
    fresh, start = spacy.load(model), time.process_time()
    docs = list(fresh.tokenizer.pipe([text.text for text in texts]))
    rows.append(
        row(
            "words a second",
            "GSD dev",
            "ours, all at once",
            sum(map(len, docs)) / (time.process_time() - start),
        )
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, rows)


def row(what: str, text: str, who: str, value: float) -> Row:
    return {"what": what, "text": text, "who": who, "value": value}


ANALYSES = [
    "hoseq_morphologizer",
    "hoseq_lemmatizer",
    "hoseq_entities",
]  # what others are not compared in
SHOWN = {"seconds of new text": "{:.2f} s", "words a second": "{:,.0f}"}  # others: F in percent


@app.command()
def page(output: Path, measured: list[Path]) -> None:
    """Tables of what was measured, between the marks of a page."""
    rows = [row for path in measured for row in srsly.read_json(path)]
    rows.sort(key=lambda row: (row["what"], row["text"]))
    shown = []
    for what, text, who, value in (one.values() for one in rows):
        shown.append(
            (what, text, who, SHOWN[what].format(value) if what in SHOWN else f"{100 * value:.2f}")
        )
    table = MarkdownRenderer().table(
        shown, ("what", "text", "who", "value"), aligns=("l", "l", "l", "r")
    )
    before, _, rest = output.read_text(encoding="utf8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{output}: there are no marks {BEGIN}, {END}")
    output.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf8")


if __name__ == "__main__":
    app()
