"""What a corpus with other tags gains in tagging Chinese: People's Daily for the Chinese Treebank's tags and for UD's.

    python -m benchmarks.other_tags metrics/other_tags.jsonl --data CORPORA [--task TASK] [--system SYSTEM] [--seeds 1]
        [--page docs/measurements/chinese.md]

Every training is a line of the output, and is not done again. Measured after the last epoch, on development text that
nothing was chosen by. A guide is a tagger of People's Daily, whose tags the next tagger reads as features (Jiang, Huang
& Liu 2009). Times of training are those of all models that a system needs, without making clusters.
"""

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.cli.training import lines
from spacy_hoseq.features.templates import templates_named
from spacy_hoseq.lexicons import bigrams_of, exchange_words
from spacy_hoseq.readers.batches import shares
from spacy_hoseq.recipes import recipe

from .ablations import N_BATCHES, PASSES, blank_of, docs_of
from .page import show, write_table
from .runs import compared, cost_ratios, mask_of
from .sizes_corpora import Rows, Task, sentences, without_dictionary

MIN_COUNT = 2  # of bigrams, for clusters
SWEEPS = 3
DAILY = Task("tagger", "zh", ("zh_pfr/train.tsv.gz", "zh_pfr/dev.tsv"), 0, (1,))
TASKS = {
    "SemEval": Task("tagger", "zh", ("zh_ctb_sdp/train.tsv", "zh_ctb_sdp/dev.tsv"), 0, (1,)),
    "GSD": Task("tagger", "zh", ("zh_ud_gsd/train.conllu.gz", "zh_ud_gsd/dev.conllu"), 1, (4,)),
}
EPOCHS, DROP = 8, 0.2
MORE_EPOCHS, MORE_BATCHES = 4, 300  # where People's Daily is trained on, too
GUIDE = "guide"
N_CLASSES = (1000, 100)
CLASSES = tuple(f"word_class{column}[-1..1]" for column in (1, 2, 3))  # the last one: tags of the lexicon
MIN_SHARE, MIN_WORD_SHARE, MIN_WORDS = 0.02, 0.05, 10  # of guesses at a tag of People's Daily; of these at a word
SURE = 0.95  # a marginal that makes a guess a gold label
HEADER = ("Corpus: system", "errors", "", "gained/lost", "p", "unknown words", "training", "tagging")


class System(NamedTuple):
    """guide: reads the tags of a tagger of People's Daily. classes: clusters and lexicon. text: how it learns from
    People's Daily, "" = not at all. seeds: at most."""

    guide: bool = False
    classes: bool = False
    text: str = ""
    seeds: int = 3


SYSTEMS = {
    "recipe": System(),
    "guide": System(guide=True),
    "guide, clusters, lexicon": System(guide=True, classes=True),
    "clusters, lexicon": System(classes=True),
    "coupled": System(text="coupled", seeds=1),
    "self-training": System(text="self-training", seeds=1),
}


class Corpus(NamedTuple):
    """A task with its text. daily: sentences of People's Daily. guide: its tagger, and what training it has taken."""

    task: Task
    training: List[Rows]
    held_out: List[Rows]
    daily: List[Rows]
    guide: Tuple[Language, float]
    folder: Path


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    task: Optional[List[str]] = None,
    system: Optional[List[str]] = None,
    seeds: int = 1,
    page: Optional[Path] = None,
) -> None:
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    done = {(row["task"], row["system"], row["seed"]) for row in rows}
    every = [(name, each, seed) for seed in range(seeds) for name in task or TASKS for each in system or SYSTEMS]
    wanted = [(name, each, seed) for name, each, seed in every if seed < SYSTEMS[each].seeds]
    wanted = [run for run in wanted if run not in done]
    with tempfile.TemporaryDirectory() as folder:
        corpora = prepared(data, Path(folder)) if wanted else {}
        for name, each, seed in wanted:
            result = run(SYSTEMS[each], corpora[name], seed)
            rows.append({"task": name, "system": each, "seed": seed, **result})
            srsly.write_jsonl(output, rows)
            msg.text(f"{name}, {each}, {seed}: {result['right'].count('0')} errors, {result['training']:.0f} s")
    cells = list(table(rows))
    show(HEADER, cells)
    if page is not None:
        write_table(page, "other tags", HEADER, cells)


def prepared(data: Path, folder: Path) -> Dict[str, Corpus]:
    """All corpora, with a guide, and the classes of words in a file: clusters of all training text, and a lexicon."""
    daily = [rows for path in DAILY.files for rows in sentences(data / path)]
    parts = {name: [list(sentences(data / path)) for path in task.files] for name, task in TASKS.items()}
    nlp = spacy.blank("xx")
    texts = [docs_of(nlp, DAILY, daily), *(docs_of(nlp, TASKS[name], part) for name, (part, _) in parts.items())]
    bigrams = bigrams_of([doc for docs in texts for doc in docs], MIN_COUNT)
    clusters = [exchange_words(bigrams, n, SWEEPS) for n in N_CLASSES]
    columns = [dict(line.split() for line in lines(bigrams.words, classes)) for classes in clusters]
    text = "".join("\t".join([word, *(column[word] for column in columns)]) + "\n" for word in columns[0])
    (folder / "classes.tsv").write_text(text, encoding="utf8")
    pairs = sorted({(row[DAILY.word], row[DAILY.tag[0]]) for rows in daily for row in rows})
    (folder / "lexicon.tsv").write_text("".join(f"{word}\t{tag}\n" for word, tag in pairs), encoding="utf8")
    start = time.process_time()
    guide = built(config_of(System(), folder), 0)
    train(guide, docs_of(guide, DAILY, daily), 0)
    seconds = time.process_time() - start
    return {
        name: Corpus(TASKS[name], training, held_out, daily, (guide, seconds), folder)
        for name, (training, held_out) in parts.items()
    }


def config_of(system: System, folder: Path) -> Config:
    config = without_dictionary(recipe("tagger", "zh"))
    config["paths"]["train"] = ""
    config = config.interpolate()
    component = config["components"]["hoseq_tagger"]
    templates = spacy.registry.resolve({"set": component["model"]["emissions"]["templates"]})["set"]
    more = [*(templates_named("guide_tags") if system.guide else ()), *(CLASSES if system.classes else ())]
    component["model"]["emissions"]["templates"] = [*templates, *more]
    component["overwrite"] = system.guide
    config["training"]["annotating_components"] = [GUIDE] if system.guide else []
    if system.classes:
        paths = {"path": str(folder / "classes.tsv"), "lexicon": str(folder / "lexicon.tsv")}
        config["initialize"]["lookups"] = {"@misc": "spacy_hoseq.word_classes.v1", **paths}
    return config


def built(config: Config, seed: int, guide: Optional[Language] = None) -> Language:
    fix_random_seed(seed)
    config.setdefault("training", {})["seed"] = seed
    nlp = load_model_from_config(config, auto_fill=True)
    if guide is not None:
        nlp.add_pipe("hoseq_tagger", GUIDE, source=guide, first=True)
    return nlp


def train(nlp: Language, gold: List[Doc], seed: int, epochs: int = EPOCHS, batches: int = N_BATCHES) -> None:
    """The tagger alone: a guide is frozen, and tags the texts once."""
    docs = [blank_of(doc) for doc in gold]
    if GUIDE in nlp.pipe_names:
        docs = list(nlp.get_pipe(GUIDE).pipe(docs))  # type: ignore[attr-defined]
    texts = [Example(doc, of) for doc, of in zip(docs, gold, strict=True)]
    rng = np.random.default_rng(seed)
    with nlp.select_pipes(enable="hoseq_tagger"):
        nlp.initialize(lambda: texts)
        for _ in range(epochs):
            for batch in shares([texts[i] for i in rng.permutation(len(texts))], batches):
                nlp.update(batch, drop=DROP)


def run(system: System, corpus: Corpus, seed: int) -> Dict[str, Any]:
    """Whether each word is right, and whether it is in the training text, as strings of 0 and 1."""
    guide, seconds = corpus.guide if system.guide else (None, 0.0)
    start = time.process_time()
    if system.text:
        nlp = with_other_text(system, corpus, seed)
    else:
        nlp = built(config_of(system, corpus.folder), seed, guide)
        train(nlp, docs_of(nlp, corpus.task, corpus.training), seed)
    seconds += time.process_time() - start
    gold, times = docs_of(nlp, corpus.task, corpus.held_out), []
    for _ in range(PASSES):
        docs = [blank_of(doc) for doc in gold]
        start = time.process_time()
        docs = list(nlp.pipe(docs))
        times.append(time.process_time() - start)
    known = {row[corpus.task.word] for rows in corpus.training for row in rows}
    pairs = [(a, b) for doc, guess in zip(gold, docs, strict=True) for a, b in zip(doc, guess, strict=True)]
    right = "".join(str(int(a.tag_ == b.tag_)) for a, b in pairs)
    is_known = "".join(str(int(a.text in known)) for a, _ in pairs)
    return {"right": right, "known": is_known, "training": seconds, "tagging": min(times)}


def with_other_text(system: System, corpus: Corpus, seed: int) -> Language:
    """Trained on the task's text, and on People's Daily with what a first model says of it."""
    config = config_of(system, corpus.folder)
    if system.text == "self-training":
        config["components"]["hoseq_tagger"].update(objective="log_likelihood", save_marginals=True)
    first = built(config, seed)
    train(first, docs_of(first, corpus.task, corpus.training), seed)
    labels = list(first.get_pipe("hoseq_tagger").labels)  # type: ignore[attr-defined]
    daily = docs_of(first, DAILY, corpus.daily)
    guesses = list(first.pipe(blank_of(doc) for doc in daily))
    tags = sure_tags(guesses) if system.text == "self-training" else coupled_tags(daily, guesses)
    config = config_of(system, corpus.folder)
    config["initialize"]["components"]["hoseq_tagger"] = {"labels": labels}
    nlp = built(config, seed)
    gold = docs_of(nlp, corpus.task, corpus.training)
    for doc, names in zip(guesses, tags, strict=True):
        gold.append(Doc(nlp.vocab, words=[token.text for token in doc], tags=names))
        for token, start in zip(gold[-1], doc, strict=True):
            token.is_sent_start = start.is_sent_start
    permit_several(nlp, labels)
    train(nlp, gold, seed, MORE_EPOCHS, MORE_BATCHES)
    return nlp


def sure_tags(guesses: List[Doc]) -> Iterator[List[str]]:
    """The tags that are probable, "" where none is."""
    for doc in guesses:
        probable = doc._.hoseq_marginals["hoseq_tagger"]["probabilities"].max(axis=1) >= SURE
        yield [token.tag_ if sure else "" for token, sure in zip(doc, probable, strict=True)]


def coupled_tags(daily: List[Doc], guesses: List[Doc]) -> Iterator[List[str]]:
    """Tags that can stand for those of People's Daily, joined by "|": what the first model says of them at the word, or
    at all words where that is rare."""
    counts: Dict[Tuple[str, str], Counter[str]] = {}
    for tagged, guess in zip(daily, guesses, strict=True):
        for a, b in zip(tagged, guess, strict=True):
            for key in ((a.tag_, ""), (a.tag_, a.text)):
                counts.setdefault(key, Counter())[b.tag_] += 1
    for tagged in daily:
        names = []
        for token in tagged:
            of_word, of_tag = counts[token.tag_, token.text], counts[token.tag_, ""]
            frequent = of_word.total() >= MIN_WORDS
            found, share = (of_word, MIN_WORD_SHARE) if frequent else (of_tag, MIN_SHARE)
            names.append("|".join(sorted(tag for tag, count in found.items() if count >= share * found.total())))
        yield names


def permit_several(nlp: Language, labels: List[str]) -> None:
    """Let gold tags be several, joined by "|"; "" is any."""
    tagger: Any = nlp.get_pipe("hoseq_tagger")
    table = tagger._label_table
    rows = {"": len(table.masks) - 1}

    def gold_rows(examples: List[Example]) -> Any:
        names = [token.tag_ for eg in examples for token in eg.reference]
        for name in {*names} - {*rows}:
            permitted: Set[str] = {*name.split("|")}
            rows[name] = len(table.masks)
            table.masks = np.vstack([table.masks, [label in permitted for label in labels]])
        return np.array([rows[name] for name in names])

    tagger._gold_rows = gold_rows


def table(rows: List[Dict[str, Any]]) -> Iterator[List[str]]:
    """All seeds of a system as one."""
    for name in TASKS:
        mine = [row for row in rows if row["task"] == name]
        base = {row["seed"]: row for row in mine if row["system"] == "recipe"}
        for system in SYSTEMS:
            runs = [row for row in mine if row["system"] == system and row["seed"] in base]
            if not runs:
                continue
            before = [base[row["seed"]] for row in runs]
            right, known = (mask_of(runs, key) for key in ("right", "known"))
            yield [
                f"{name}: {system}",
                ", ".join(str(row["right"].count("0")) for row in runs),
                *(compared(before, runs) if system != "recipe" else [""] * 3),
                f"{right[~known].mean():.1%}",
                *cost_ratios(before, runs),
            ]


if __name__ == "__main__":
    typer.run(main)
