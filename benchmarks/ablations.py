"""What gains in tagging and chunking English: one change of a recipe at a time, on tenths of CoNLL-2000 and on EWT.

    python -m benchmarks.ablations metrics/ablations.jsonl --data CORPORA [--task TASK] [--system SYSTEM] [--seeds 1]
        [--page docs/measurements/recipes.md]

Every training is a line of the output, and is not done again. All systems see the same Docs of ten sentences in 100
batches an epoch, in an order that the seed gives, and are measured after the last epoch, on text that they were not
trained on. p: McNemar's test on all tasks of a corpus together; of chunks, the paired bootstrap over sentences. A word
or sentence counts once, whatever the number of seeds.
"""

import gzip
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.features.templates import parse_templates, templates_named
from spacy_hoseq.readers.annotated import case_augmenter
from spacy_hoseq.readers.batches import shares
from spacy_hoseq.recipes import recipe
from spacy_hoseq.reporting.scores import counts, pairs_of
from spacy_hoseq.reporting.significance import f_score, paired_bootstrap

from .page import show, write_table
from .runs import compared, cost_ratios, mask_of, over_seeds
from .sizes_corpora import PER_DOC, Rows, Task, doc_of, sentences

NEWS = Task("tagger", "en", ("conll2000/train.txt", ""), 0, (1,))
CHUNKS = Task("chunker", "en", ("conll2000/train.txt", ""), 0, (1,), 2)
WEB = Task("tagger", "en", ("en_ewt/train.conllu.gz", "en_ewt/dev.conllu.gz"), 1, (4,))
GENRES = "New genres"  # trained on EWT and the other genres of GUM
NEW_GENRES = ("academic", "vlog")
TENTHS = (9, 6, 3, 0)  # each is measured on once, the other nine tenths train
SMALL = {f"English web, {n:,} sentences": n for n in (100, 2000)}
TASKS = [*(f"{of}, tenth {i + 1}" for of in ("CoNLL-2000", "Chunks") for i in TENTHS), *SMALL, "English web", GENRES]
N_BATCHES, PASSES = 100, 3
BASE = "recipe, no classes, no known tags"
BASE_CHUNKS = "pipeline, no classes"
HEADER = ("Corpus, system", "accuracy", "errors", "", "gained/lost", "p", "unknown words", "training", "tagging")
ACCURATE_HEADER = ("Corpus, system", "accuracy", "errors", "", "gained/lost", "p", "training", "tagging")
CHUNKS_HEADER = ("Chunks from words", "F", "of each tenth", "", "p", "accuracy of tags", "training", "tagging")


class System(NamedTuple):
    """less: templates that are left out, of the last component. settings: of the component, by their paths. text:
    further corpora for training, beside EWT. classes: whether it has the table of word classes that the recipes for
    English have. cases: shares of the texts that are seen in lower case, and in capitals, too. confident: the share of
    other corpora's sentences that a first tagger tags for a second one, those that it is surest of."""

    recipe: str = "tagger"
    less: Tuple[str, ...] = ()
    settings: Dict[str, Any] = {}
    drop: float = 0.2
    epochs: int = 8
    text: Tuple[str, ...] = ()
    classes: bool = True
    cases: Tuple[float, float] = (0.0, 0.0)
    confident: float = 0.0


EVERY = [str(template) for template in parse_templates(templates_named("accurate_pos", classes=4))]
KNOWN = tuple(each for each in EVERY if "known_tags" in each)
CLASSES = tuple(each for each in EVERY if "word_class" in each)
WORDS = {"@misc": "spacy_hoseq.word_patterns.v1", "most": 1000}
PAIRS_OF_TAGS = {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 2, "min_count": 100}
GUM = ("en_gum/train.conllu.gz",)
UNTAGGED = {"conll2000/train.txt": 0, "wnut17/train.conll.gz": 0}  # and the column of words
SYSTEMS: Dict[str, System] = {
    BASE: System(less=KNOWN, classes=False),
    "recipe, no classes": System(classes=False),
    "recipe, no classes, patterns of words": System(settings={"model.patterns": WORDS}, classes=False),
    "recipe": System(),
    "accurate, no classes": System("accurate", classes=False),
    "accurate": System("accurate"),
    BASE_CHUNKS: System("pipeline", classes=False),
    "pipeline": System("pipeline"),
    "pipeline, joint": System("pipeline", settings={"model.emissions.second.upstream.grad_factor": 1.0}),
}
CHANGES: Dict[str, System] = {  # of `accurate`; on web text and new genres alone
    "accurate, GUM, too": System("accurate", text=GUM),
    "accurate, dropout 0.3": System("accurate", drop=0.3, epochs=12),
    "accurate, other cases": System("accurate", cases=(0.3, 0.1)),
    "accurate, patterns": System("accurate", settings={"model.patterns": PAIRS_OF_TAGS}),
    "accurate, self-training": System("accurate", confident=0.5),
}


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
    for name in task or TASKS:
        done = {(row["system"], row["seed"]) for row in rows if row["task"] == name}
        fitting = [each for each in systems_of(name) if not system or each in system]
        wanted = [(each, seed) for each in fitting for seed in seeds_of(name, seeds) if (each, seed) not in done]
        parts = corpora(name, data) if wanted else ([], [])
        for each, seed in wanted:
            result = run(systems_of(name)[each], name, data, *parts, seed)
            rows.append({"task": name, "system": each, "seed": seed, **result})
            srsly.write_jsonl(output, rows)
            msg.text(f"{name}, {each}, {seed}: {result['right'].count('0')} errors, {result['training']:.0f} s")
    tables = {
        "ablations": (HEADER, list(table(rows))),
        "accurate": (ACCURATE_HEADER, list(table_of_accurate(rows))),
        "chunks from words": (CHUNKS_HEADER, list(table_of_chunks(rows))),
    }
    for title, (header, cells) in tables.items():
        show(header, cells)
        if page is not None:
            write_table(page, title, header, cells)


def corpora(name: str, data: Path) -> Tuple[List[Rows], List[Rows]]:
    """Sentences to train on, and to measure on."""
    task = task_of(name)
    training = list(sentences(data / task.files[0]))
    if name == GENRES:
        parts = [genres_of(data / f"en_gum/{part}.conllu.gz") for part in ("train", "dev")]
        return (
            [*training, *(rows for genre, rows in parts[0] if genre not in NEW_GENRES)],
            [rows for part in parts for genre, rows in part if genre in NEW_GENRES],
        )
    if task.files[1]:
        return training[: SMALL.get(name)], list(sentences(data / task.files[1]))
    tenth = int(name.split()[-1]) - 1
    first, end = (i * len(training) // 10 for i in (tenth, tenth + 1))
    return training[:first] + training[end:], training[first:end]


def genres_of(path: Path) -> List[Tuple[str, Rows]]:
    """Sentences of GUM with their genres."""
    with gzip.open(path, "rt", encoding="utf8") as file:
        genres = [line.split("_")[2] for line in file if line.startswith("# sent_id = ")]
    return list(zip(genres, sentences(path), strict=True))


def task_of(name: str) -> Task:
    return NEWS if name.startswith("CoNLL") else CHUNKS if name.startswith("Chunks") else WEB


def seeds_of(name: str, seeds: int) -> range:
    """One of chunks, whose four tenths are four trainings."""
    return range(1 if task_of(name) is CHUNKS else seeds)


def systems_of(name: str) -> Dict[str, System]:
    """What is trained for a task, by name."""
    if name == GENRES:
        return {"accurate": SYSTEMS["accurate"], **{each: CHANGES[each] for each in CHANGES if not CHANGES[each].text}}
    is_chunks = task_of(name) is CHUNKS
    fitting = {each: system for each, system in SYSTEMS.items() if (system.recipe == "pipeline") == is_chunks}
    return {**fitting, **CHANGES} if name == "English web" else fitting


def config_of(system: System, corpus: str) -> Config:
    settings = {"paths.train": corpus}
    config = Config().from_str(recipe(system.recipe), interpolate=False, overrides=settings).interpolate()
    *earlier, component = config["components"].values()
    leave_out(component, system.less)
    if not system.classes:
        config["initialize"]["lookups"] = None
        for each in (*earlier, component):
            leave_out(each, CLASSES)
    for key, value in system.settings.items():
        *above, last = key.split(".")
        section = component
        for part in above:
            section = section[part]
        section[last] = value
    return config


def leave_out(component: Dict[str, Any], less: Sequence[str]) -> None:
    emissions = component["model"]["emissions"]
    emissions = emissions.get("first", emissions)
    templates = spacy.registry.resolve({"set": emissions["templates"]})["set"]
    emissions["templates"] = [each for each in map(str, parse_templates(templates)) if each not in less]


def run(system: System, name: str, data: Path, training: List[Rows], held_out: List[Rows], seed: int) -> Dict[str, Any]:
    """Whether each word is right, and whether it is in the training text, as strings of 0 and 1."""
    training = [*training, *(rows for path in system.text for rows in sentences(data / path))]
    start = time.process_time()
    if system.confident:
        first = trained(system, task_of(name), training, seed)
        training = [*training, *confident(first, task_of(name), data, system.confident)]
    nlp = trained(system, task_of(name), training, seed)
    seconds = time.process_time() - start
    gold = docs_of(nlp, task_of(name), held_out)
    times = []
    for _ in range(PASSES):
        docs = [blank_of(doc) for doc in gold]
        start = time.process_time()
        docs = list(nlp.pipe(docs))
        times.append(time.process_time() - start)
    known = {token.text for doc in docs_of(nlp, task_of(name), training) for token in doc}
    pairs = [(a, b) for doc, guess in zip(gold, docs, strict=True) for a, b in zip(doc, guess, strict=True)]
    right = "".join(str(int(a.tag_ == b.tag_)) for a, b in pairs)
    is_known = "".join(str(int(a.text in known)) for a, _ in pairs)
    result: Dict[str, Any] = {"right": right, "known": is_known, "training": seconds, "tagging": min(times)}
    if task_of(name) is CHUNKS:
        result["chunks"] = counts(gold, pairs_of(gold, docs, "spans.chunks")).tolist()
    return result


def trained(system: System, task: Task, training: List[Rows], seed: int) -> Language:
    fix_random_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.spacy"
        DocBin(docs=docs_of(spacy.blank(task.lang), task, training), store_user_data=True).to_disk(path)
        config = config_of(system, str(path))
        config.setdefault("training", {})["seed"] = seed
        nlp = load_model_from_config(config, auto_fill=True)
        golds = docs_of(nlp, task, training)
        texts = [Example(blank_of(gold), gold) for gold in golds]
        texts = [each for text in texts for each in case_augmenter(*system.cases)(nlp, text)]
        nlp.initialize(lambda: texts)
    rng = np.random.default_rng(seed)
    for _ in range(system.epochs):
        for batch in shares([texts[i] for i in rng.permutation(len(texts))], N_BATCHES):
            nlp.update(batch, drop=system.drop)
    return nlp


def confident(nlp: Language, task: Task, data: Path, share: float) -> List[Rows]:
    """Sentences of other corpora with the tags that a tagger gives: those of whose least sure tag it is surest."""
    component: Any = nlp.get_pipe("hoseq_tagger")
    tagged = []
    for path, column in UNTAGGED.items():
        for rows in sentences(data / path):
            doc = Doc(nlp.vocab, words=[row[column] for row in rows])
            reading = component.read([doc])
            component.set_annotations([doc], reading)
            tagged.append((reading.confidences().min(), [["", t.text, "", "", t.tag_] for t in doc]))
    tagged.sort(key=lambda pair: -pair[0])
    return [rows for _, rows in tagged[: round(share * len(tagged))]]


def docs_of(nlp: Language, task: Task, part: List[Rows]) -> List[Doc]:
    return [doc_of(nlp.vocab, task, part[i : i + PER_DOC]) for i in range(0, len(part), PER_DOC)]


def blank_of(gold: Doc) -> Doc:
    starts = [token.is_sent_start for token in gold]
    return Doc(gold.vocab, words=[token.text for token in gold], sent_starts=starts)


def table(rows: List[Dict[str, Any]]) -> Iterator[List[str]]:
    """All tenths and seeds of a system as one."""
    for corpus in ("CoNLL-2000", *SMALL, "English web"):
        mine = [row for row in rows if corpus == row["task"] or corpus == "CoNLL-2000" == row["task"][:10]]
        base = {(row["task"], row["seed"]): row for row in mine if row["system"] == BASE}
        for system in SYSTEMS:
            runs = [row for row in mine if row["system"] == system and (row["task"], row["seed"]) in base]
            if not runs:
                continue
            before = [base[row["task"], row["seed"]] for row in runs]
            right, known = (mask_of(runs, key) for key in ("right", "known"))
            tasks = {row["task"] for row in runs}
            where = corpus if corpus in tasks else f"{corpus}, {len(tasks)} of {len(TENTHS)} tenths"
            yield [
                f"{where}: {system}",
                f"{right.mean():.2%}",
                ", ".join(f"{errors:,}" for errors in errors_of(runs)),
                *(compared(before, runs) if system != BASE else [""] * 3),
                f"{right[~known].mean():.1%}",
                *cost_ratios(before, runs),
            ]


def table_of_accurate(rows: List[Dict[str, Any]]) -> Iterator[List[str]]:
    """Changes of the recipe `accurate`."""
    for corpus in ("English web", GENRES):
        mine = {(row["system"], row["seed"]): row for row in rows if row["task"] == corpus}
        for system in ("accurate", *CHANGES):
            runs = [row for (of, seed), row in mine.items() if of == system and ("accurate", seed) in mine]
            if not runs:
                continue
            before = [mine["accurate", row["seed"]] for row in runs]
            yield [
                f"{corpus}: {system}",
                f"{mask_of(runs, 'right').mean():.2%}",
                ", ".join(f"{row['right'].count('0'):,}" for row in runs),
                *(compared(before, runs) if system != "accurate" else [""] * 3),
                *cost_ratios(before, runs),
            ]


def errors_of(runs: List[Dict[str, Any]]) -> List[int]:
    """With each seed, on all tasks together."""
    seeds = sorted({row["seed"] for row in runs})
    return [sum(row["right"].count("0") for row in runs if row["seed"] == seed) for seed in seeds]


def table_of_chunks(rows: List[Dict[str, Any]]) -> Iterator[List[str]]:
    """F of all tenths together, and of each."""
    base = {(row["task"], row["seed"]): row for row in rows if row["system"] == BASE_CHUNKS}
    for system in SYSTEMS:
        runs = [
            row for row in rows if row["system"] == system and (row["task"], row["seed"]) in base and "chunks" in row
        ]
        if not runs:
            continue
        before = [base[row["task"], row["seed"]] for row in runs]
        a, b = (over_seeds(part, lambda row: np.array(row["chunks"], float)) for part in (before, runs))
        of_each = [f_of(row for row in runs if row["task"] == task) for task in {row["task"]: row for row in runs}]
        f, f_before = (float(f_score(each.sum(axis=0, keepdims=True))[0]) for each in (b, a))
        change = [f"{100 * (f - f_before):+.2f}", f"{paired_bootstrap(a, b, f_score).p:.2g}"]
        yield [
            system,
            f"{100 * f:.2f}",
            ", ".join(f"{100 * each:.2f}" for each in of_each),
            *(change if system != BASE_CHUNKS else ["", ""]),
            f"{mask_of(runs, 'right').mean():.2%}",
            *cost_ratios(before, runs),
        ]


def f_of(runs: Iterable[Dict[str, Any]]) -> float:
    """F of the chunks of all runs together."""
    found = sum(np.array(row["chunks"], float).sum(axis=0, keepdims=True) for row in runs)
    return float(f_score(found)[0])


if __name__ == "__main__":
    typer.run(main)
