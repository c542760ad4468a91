"""Train lemmatizers on UD treebanks, and measure them: gold words, sentences, parts of speech and features.

    python experiments/treebanks/lemmas.py hoseq_lemmatizer FOLDER [FOLDER ...] [--epochs 3]

Prints a row of a table for each folder: *train.conllu and *dev.conllu, plain or gzipped; without a dev part, the tenth
tenth of the training part stands for it, and is not trained on. The component, `hoseq_lemmatizer` or spaCy's
`trainable_lemmatizer`, has its default settings. Every epoch goes through the sentences in another order, 30 at a time.
"""

import random
import time
from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from spacy_hoseq.readers.formats.conllu import read_conllu
from spacy_hoseq.readers.sentences import Sentence
from spacy_hoseq.readers.settings import Settings

SENTENCES, DROPOUT = 30, 0.2  # of an update


def main(component: str, folders: list[Path], epochs: int = 3) -> None:
    print("| Treebank | Words | Labels | Lemmas | of new words | Training, CPU s | Tokens/s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for folder in folders:
        train, dev = parts_of(folder)
        nlp = spacy.blank("xx")
        seconds = trained(nlp, component, train, epochs)
        right, right_new, speed = measured(nlp, train, dev)
        n_words = sum(len(sentence.words) for sentence in train)
        labels = len(nlp.get_pipe(component).labels)
        cells = [folder.name, f"{n_words:,}", f"{labels:,}", f"{right:.2f}", f"{right_new:.2f}"]
        print("| " + " | ".join([*cells, f"{seconds:.0f}", f"{speed:,.0f}"]) + " |", flush=True)


def parts_of(folder: Path) -> tuple[list[Sentence], list[Sentence]]:
    train, dev = (sentences_of(folder, part) for part in ("train", "dev"))
    if dev:
        return train, dev
    cut = len(train) * 9 // 10
    return train[:cut], train[cut:]


def sentences_of(folder: Path, part: str) -> list[Sentence]:
    files = sorted(folder.glob(f"*{part}.conllu*"))
    return [
        each
        for file in files
        for each in read_conllu(file, Settings())
        if isinstance(each, Sentence)
    ]


def doc_of(nlp: Language, sentence: Sentence, with_lemmas: bool) -> Doc:
    settings: Any = {"tags": sentence.tags, "pos": sentence.pos, "morphs": sentence.morphs}
    if with_lemmas:
        settings["lemmas"] = sentence.lemmas
    starts: Any = [i == 0 for i in range(len(sentence.words))]
    return Doc(nlp.vocab, words=sentence.words, sent_starts=starts, **settings)


def trained(nlp: Language, component: str, train: list[Sentence], epochs: int) -> float:
    """RETURNS processor seconds."""
    nlp.add_pipe(component)
    examples = [Example(doc_of(nlp, each, False), doc_of(nlp, each, True)) for each in train]
    start = time.process_time()
    optimizer = nlp.initialize(lambda: examples)
    order = random.Random(0)
    for _ in range(epochs):
        order.shuffle(examples)
        for batch in minibatch(examples, SENTENCES):
            nlp.update(batch, drop=DROPOUT, sgd=optimizer)
    return time.process_time() - start


def measured(
    nlp: Language, train: list[Sentence], dev: list[Sentence]
) -> tuple[float, float, float]:
    """Right lemmas in per cent, those of words that training has not seen, tokens a processor second."""
    known = {word for sentence in train for word in sentence.words}
    docs = [doc_of(nlp, sentence, False) for sentence in dev]
    start = time.process_time()
    docs = list(nlp.pipe(docs))
    seconds = time.process_time() - start
    right, right_new = [], []
    for doc, sentence in zip(docs, dev, strict=True):
        for token, lemma in zip(doc, sentence.lemmas or (), strict=True):
            right.append(token.lemma_ == lemma)
            if token.text not in known:
                right_new.append(token.lemma_ == lemma)
    return (
        100 * sum(right) / len(right),
        100 * sum(right_new) / len(right_new),
        len(right) / seconds,
    )


if __name__ == "__main__":
    typer.run(main)
