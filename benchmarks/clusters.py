"""What clusters of raw text and a lexicon gain as features of the default tagger.

    python -m benchmarks.clusters metrics/clusters.jsonl --data CORPORA [--task "English, web"] [--seeds 3]
        [--page PAGE.md]

Every run is a line of the output file, and is not done again. Trained for ten epochs by the recipe `tagger`, measured
after the last one on text that nothing was chosen by. The clusters are those of the training text and of other text at
hand, without its labels; the lexicon is the words and tags of a corpus that is annotated otherwise.
"""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.cli.training import lines
from spacy_hoseq.lexicons import bigrams_of, exchange_words
from spacy_hoseq.recipes import recipe

from .page import show, write_table
from .runs import compared, mask_of
from .sizes_corpora import PER_DOC, Rows, Task, doc_of, sentences, without_dictionary

SYSTEMS: Dict[str, Tuple[int, int, bool]] = {  # numbers of clusters of two columns (0: none), lexicon
    "recipe": (0, 0, False),
    "1,000 clusters": (1000, 0, False),
    "1,000 and 100 clusters": (1000, 100, False),
    "the same and lexicon": (1000, 100, True),
}
EPOCHS = 10
MIN_COUNT, SWEEPS = 2, 3
HEADER = ("Corpus", "system", "errors", "", "gained/lost", "p", "unknown words", "training")
ENGLISH = ("en_ewt/train.conllu.gz", "en_gum/train.conllu.gz", "en_gum/dev.conllu.gz", "conll2000/train.txt")


class Case(NamedTuple):
    """task: as in `benchmarks.sizes`; tenth: of the training text that is measured on, -1 = its development text.
    raw: text for the clusters, beside the training text. lexicon: corpora of other annotation; tag: the column of their
    tags."""

    task: Task
    tenth: int = -1
    raw: Tuple[str, ...] = ()
    lexicon: Tuple[str, ...] = ()
    tag: int = 0


def tagging(lang: str, files: Tuple[str, str], word: int, tag: int) -> Task:
    return Task("tagger", lang, files, word, (tag,))


CASES = {
    "English, web": Case(
        tagging("en", ("en_ewt/train.conllu.gz", "en_ewt/dev.conllu.gz"), 1, 4), -1, ENGLISH[1:], ENGLISH[1:3], 4
    ),
    "Chinese, XPOS": Case(
        tagging("zh", ("zh_ud_gsd/train.conllu.gz", "zh_ud_gsd/dev.conllu"), 1, 4), -1,
        ("zh_ctb_sdp/train.tsv", "zh_pfr/train.tsv.gz", "zh_pfr/dev.tsv"), ("zh_pfr/train.tsv.gz", "zh_pfr/dev.tsv"), 1,
    ),
    "Hungarian, UPOS": Case(tagging("hu", ("ud_hu_szeged/train.conllu.gz", "ud_hu_szeged/dev.conllu.gz"), 1, 3)),
    **{
        f"CoNLL-2000, tenth {i + 1}": Case(
            tagging("en", ("conll2000/train.txt", ""), 0, 1), i, ENGLISH[:3], ENGLISH[:3], 4
        )
        for i in (9, 6, 3, 0)
    },
}  # fmt: skip


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    task: Optional[List[str]] = None,
    seeds: int = 3,
    page: Optional[Path] = None,
) -> None:
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    for name in task or CASES:
        done = {(row["seed"], row["system"]) for row in rows if row["task"] == name}
        systems = [system for system, settings in SYSTEMS.items() if CASES[name].lexicon or not settings[2]]
        missing = [(seed, system) for seed in range(seeds) for system in systems if (seed, system) not in done]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as folder:
            parts = prepared(CASES[name], data, Path(folder))
            for seed, system in missing:
                result = run(Path(folder), SYSTEMS[system], seed, parts)
                rows.append({"task": name, "seed": seed, "system": system, **result})
                srsly.write_jsonl(output, rows)
                msg.text(f"{name}, {seed}, {system}: {result['right'].count('0')}, {result['seconds']:.0f} s")
    cells = list(table(rows))
    show(HEADER, cells)
    if page is not None:
        write_table(page, "clusters", HEADER, cells)


def prepared(case: Case, data: Path, folder: Path) -> Dict[str, List[Doc]]:
    """Write train.spacy, clusters and lexicon. RETURNS the Docs of both parts."""
    training = list(sentences(data / case.task.files[0]))
    if case.tenth < 0:
        held_out = list(sentences(data / case.task.files[1]))
    else:
        first, end = (i * len(training) // 10 for i in (case.tenth, case.tenth + 1))
        training, held_out = training[:first] + training[end:], training[first:end]
    vocab = spacy.blank(case.task.lang if case.task.lang != "zh" else "xx").vocab
    parts = {"train": training, "test": held_out}
    docs = {
        part: [doc_of(vocab, case.task, rows[i : i + PER_DOC]) for i in range(0, len(rows), PER_DOC)]
        for part, rows in parts.items()
    }
    DocBin(docs=docs["train"]).to_disk(folder / "train.spacy")
    raw = [words for path in case.raw for words, _ in words_and_tags(data / path, 0)]
    bigrams = bigrams_of([*docs["train"], *(Doc(vocab, words=words) for words in raw)], MIN_COUNT)
    for n in {n for settings in SYSTEMS.values() for n in settings[:2] if n}:
        text = "".join(lines(bigrams.words, exchange_words(bigrams, n, SWEEPS)))
        (folder / f"{n}.tsv").write_text(text, encoding="utf8")
    pairs = {
        pair for path in case.lexicon for s in words_and_tags(data / path, case.tag) for pair in zip(*s, strict=True)
    }
    (folder / "lexicon.tsv").write_text("".join(f"{word}\t{tag}\n" for word, tag in sorted(pairs)), encoding="utf8")
    return docs


def words_and_tags(path: Path, tag: int) -> Iterator[Tuple[List[str], List[str]]]:
    word = 1 if ".conllu" in path.name else 0
    for rows in sentences(path):
        yield column(rows, word), column(rows, tag)


def column(rows: Rows, number: int) -> List[str]:
    return [row[number] for row in rows]


def run(folder: Path, settings: Tuple[int, int, bool], seed: int, parts: Dict[str, List[Doc]]) -> Dict[str, Any]:
    """Whether each word is right, and whether it is in the training text; as strings of 0 and 1."""
    lang = parts["train"][0].vocab.lang
    config_path = folder / "config.cfg"
    lang = {"xx": "zh", "en": "xx"}.get(lang, lang)  # (the recipe for English has classes of words already)
    text = recipe("tagger", lang)
    config = without_dictionary(text) if lang == "zh" else Config().from_str(text, interpolate=False)
    columns = classes(folder, settings)
    if columns:
        emissions = config["components"]["hoseq_tagger"]["model"]["emissions"]
        templates = spacy.registry.resolve({"set": emissions["templates"]})["set"]
        emissions["templates"] = [*templates, *(f"word_class{i + 1}[-1..1]" for i in range(columns))]
        paths = {"path": str(folder / "classes.tsv"), "lexicon": str(folder / "lexicon.tsv") if settings[2] else None}
        config["initialize"]["lookups"] = {"@misc": "spacy_hoseq.word_classes.v1", **paths}
    config.to_disk(config_path)
    corpus = str(folder / "train.spacy")
    overrides = {
        "paths.train": corpus, "paths.dev": corpus, "system.seed": seed, "training.logger.progress_bar": None,
        "training.max_epochs": EPOCHS, "training.patience": 0, "training.eval_frequency": 100_000,
    }  # fmt: skip
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        train(config_path, folder / "model", overrides=overrides)
    seconds = time.process_time() - start
    nlp = spacy.load(folder / "model" / "model-last")
    gold = [token for doc in parts["test"] for token in doc]
    plain = [
        Doc(nlp.vocab, words=[t.text for t in doc], sent_starts=[t.is_sent_start for t in doc]) for doc in parts["test"]
    ]
    guess = [token.tag_ for doc in nlp.pipe(plain) for token in doc]
    known = {token.text for doc in parts["train"] for token in doc}
    right = "".join(str(int(a == b.tag_)) for a, b in zip(guess, gold, strict=True))
    return {"right": right, "known": "".join(str(int(t.text in known)) for t in gold), "seconds": seconds}


def classes(folder: Path, settings: Tuple[int, int, bool]) -> int:
    """Write both columns of clusters. RETURNS the number of columns, with that of the lexicon."""
    files = [folder / f"{n}.tsv" for n in settings[:2] if n]
    tables = [dict(line.split("\t") for line in file.read_text(encoding="utf8").splitlines()) for file in files]
    if tables:
        text = "".join("\t".join([word, *(t[word] for t in tables)]) + "\n" for word in tables[0])
        (folder / "classes.tsv").write_text(text, encoding="utf8")
    return len(files) + settings[2]


def table(rows: List[Dict[str, Any]]) -> Iterator[List[str]]:
    """All seeds of a system as one; the tenths of a corpus as one, too."""
    names = {row["task"]: row["task"].split(", tenth")[0] for row in rows}
    for name in dict.fromkeys(names.values()):
        mine = [row for row in rows if names[row["task"]] == name]
        for system in SYSTEMS:
            of_system = {(row["task"], row["seed"]): row for row in mine if row["system"] == system}
            recipes = [row for row in mine if row["system"] == "recipe" and (row["task"], row["seed"]) in of_system]
            if not recipes:
                continue
            runs = [of_system[row["task"], row["seed"]] for row in recipes]
            right, known = mask_of(runs, "right"), mask_of(recipes, "known")
            yield [
                f"{name}, {len(right) // len(runs):,} words",
                system,
                ", ".join(str(row["right"].count("0")) for row in runs),
                *(compared(recipes, runs) if system != "recipe" else [""] * 3),
                f"{right[~known].mean():.1%}",
                f"{np.mean([row['seconds'] for row in runs]):.0f} s",
            ]


if __name__ == "__main__":
    typer.run(main)
