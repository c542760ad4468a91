"""A network under the exact head: sparse features, and their sum with a network, beside spaCy's components.

    python -m benchmarks.neural metrics/neural.jsonl --data CORPORA [--task "English news, tags"] [--system sparse]
        [--speed] [--page docs/measurements/recipes.md]

Every training is a line of the output, and is not done again. All systems see the same Docs of ten sentences in the
same batches and the same order; Adam is that of spaCy's default config, with averages. Scores are those of the
development text after each epoch: they choose, so the best of a row is a little too high, for all alike.
"""

import re
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Adam, Config, NumpyOps, set_current_ops
from wasabi import msg

from spacy_hoseq.readers.batches import shares
from spacy_hoseq.recipes import recipe

from .page import show, write_table
from .sizes_corpora import PER_DOC, Rows, Task, doc_of, sentences

CNN = {
    "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 64, "depth": 2,
    "embed_size": 2000, "window_size": 1, "maxout_pieces": 3, "subword_features": True,
}  # fmt: skip
TASKS: Dict[str, Task] = {
    "English news, tags": Task("tagger", "en", ("conll2000/train.txt", ""), 0, (1,)),
    "English web, tags": Task("tagger", "en", ("en_ewt/train.conllu.gz", "en_ewt/dev.conllu.gz"), 1, (4,)),
    "Chinese social media, entities": Task(
        "entities", "zh", ("zh_ner_weibo/train.tsv", "zh_ner_weibo/dev.tsv"), 0, (), 1
    ),
}


class System(NamedTuple):
    """emissions: "sparse", "sum", or "spaCy" for its own component. settings: of our component. drop: dropout. rate:
    learn rate of Adam. epochs (int)."""

    emissions: str
    settings: Dict[str, Any] = {}
    drop: float = 0.2
    rate: float = 0.001
    epochs: int = 8


NOT_ZERO = {"model.emissions.min_count": 2}
LIKELIHOOD = {**NOT_ZERO, "objective": "log_likelihood", "update_rule.average": False}
PATTERNS = {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 2, "min_count": 100}
TAGGERS: Dict[str, System] = {
    "sparse": System("sparse"),
    "spaCy": System("spaCy", drop=0.1),
    "spaCy, Adam 0.002": System("spaCy", drop=0.1, rate=0.002),
    "sum, likelihood": System("sum", LIKELIHOOD, epochs=7),
    "sum, `min_count = 2`": System("sum", NOT_ZERO, epochs=7),
    "sum, Adam 0.002": System("sum", rate=0.002, epochs=7),
    "sum, Adam 0.002, patterns": System("sum", {"model.patterns": PATTERNS}, rate=0.002, epochs=7),
}
FINDERS: Dict[str, System] = {
    "sparse": System("sparse", drop=0.3),
    "spaCy, Adam 0.002": System("spaCy", drop=0.2, rate=0.002),
    "sum, Adam 0.002": System("sum", drop=0.3, rate=0.002),
}
BATCH_WORDS = {"tagger": 1000, "entities": 500}
TIMED_DOCS, TIMES = 100, 5
HEADER = ("Corpus, system", "last epoch", "averaged", "best", "epochs", "training")
SPEED_HEADER = ("Corpus, system", "tokens/s", "time / spaCy's")


def systems_of(task: str) -> Dict[str, System]:
    return TAGGERS if TASKS[task].recipe == "tagger" else FINDERS


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    task: Optional[List[str]] = None,
    system: Optional[List[str]] = None,
    speed: bool = False,
    page: Optional[Path] = None,
) -> None:
    """speed: time the models that lie in OUTPUT's folder, too."""
    rows: List[Dict[str, Any]] = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    for name in task or TASKS:
        done = {row["system"] for row in rows if row["task"] == name}
        wanted = [each for each in system or systems_of(name) if each not in done]
        parts = corpora(TASKS[name], data) if wanted or speed else ([], [])
        for each in wanted:
            row = trained(TASKS[name], systems_of(name)[each], *parts, model_path(output, name, each))
            rows.append({"task": name, "system": each, **row})
            srsly.write_jsonl(output, rows)
            msg.text(f"{name}, {each}: {row['scores'][-1]}, {row['seconds']:.0f} s")
        if speed:
            models = {each: model_path(output, name, each) for each in systems_of(name)}
            seconds = times({each: path for each, path in models.items() if path.exists()}, TASKS[name], parts[1])
            for row in rows:
                if row["task"] == name and row["system"] in seconds:
                    row["speed"] = {"seconds": seconds[row["system"]], "words": sum(map(len, parts[1]))}
            srsly.write_jsonl(output, rows)
    publish(rows, page)


def model_path(output: Path, task: str, system: str) -> Path:
    return output.parent / "neural" / re.sub(r"\W+", "_", f"{task} {system}")


def times(models: Dict[str, Path], task: Task, dev: List[Rows]) -> Dict[str, float]:
    """Processor seconds for the development text, the least of several, the systems in turns; with the matrix products
    that spaCy takes by default."""
    set_current_ops(NumpyOps())
    pipelines = {name: spacy.load(path) for name, path in models.items()}
    seconds = {name: float("inf") for name in models}
    for _ in range(TIMES):
        for name, nlp in pipelines.items():
            docs = [eg.predicted for eg in examples(nlp, task, dev)]
            start = time.process_time()
            list(nlp.pipe(docs, batch_size=TIMED_DOCS))
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def corpora(task: Task, data: Path) -> Tuple[List[Rows], List[Rows]]:
    """Training and development text; the latter is the last tenth of the former, if the corpus has none."""
    training = list(sentences(data / task.files[0]))
    if task.files[1]:
        return training, list(sentences(data / task.files[1]))
    cut = len(training) - len(training) // 10
    return training[:cut], training[cut:]


def examples(nlp: Language, task: Task, part: List[Rows]) -> List[Example]:
    golds = [doc_of(nlp.vocab, task, part[i : i + PER_DOC]) for i in range(0, len(part), PER_DOC)]
    return [Example(blank_of(gold), gold) for gold in golds]


def blank_of(gold: Doc) -> Doc:
    starts = [token.is_sent_start for token in gold]
    return Doc(gold.vocab, words=[token.text for token in gold], sent_starts=starts)


def config_of(task: Task, system: System) -> Config:
    if system.emissions == "spaCy":
        name = "tagger" if task.recipe == "tagger" else "ner"
        model: Dict[str, Any] = {"@architectures": "spacy.Tagger.v2", "tok2vec": CNN}
        if name == "ner":
            parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "hidden_width": 64}
            model = {**parser, "extra_state_tokens": False, "maxout_pieces": 2, "use_upper": True, "tok2vec": CNN}
        component = {name: {"factory": name, "model": model}}
        return Config({"nlp": {"lang": task.lang, "pipeline": [name]}, "components": component})
    config = Config().from_str(recipe(task.recipe, task.lang), interpolate=False)
    component = config["components"][task.component]
    for key, value in system.settings.items():
        *above, last = key.split(".")
        section = component
        for part in above:
            section = section[part]
        section[last] = value
    if system.emissions == "sum":
        network = {"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": CNN}
        layers = {"first": component["model"]["emissions"], "second": network}
        component["model"]["emissions"] = {"@architectures": "spacy_hoseq.SumEmissions.v1", **layers}
    return config.interpolate()


def trained(task: Task, system: System, training: List[Rows], dev: List[Rows], folder: Path) -> Dict[str, Any]:
    """Scores of the development text after each epoch: with the weights as they are, with the averages of Adam. The
    latter are saved."""
    set_current_ops(NumpyOps(use_blis=False))  # twice as fast in training; the scores are the same
    fix_random_seed(0)
    nlp = load_model_from_config(config_of(task, system), auto_fill=True)
    texts, seconds, scores = examples(nlp, task, training), 0.0, []
    nlp.initialize(lambda: texts)
    n_batches = max(1, round(sum(map(len, texts)) / BATCH_WORDS[task.recipe]))
    adam = Adam(system.rate, L2=0.01, L2_is_weight_decay=True, grad_clip=1.0, use_averages=True)
    rng = np.random.default_rng(0)
    for _ in range(system.epochs):
        start = time.process_time()
        for batch in shares([texts[i] for i in rng.permutation(len(texts))], n_batches):
            nlp.update(batch, drop=system.drop, sgd=adam)
        seconds += time.process_time() - start
        raw = nlp.evaluate(examples(nlp, task, dev))[task.metric]
        with nlp.use_params(adam.averages):
            averaged = nlp.evaluate(examples(nlp, task, dev))[task.metric]
        scores.append((round(100 * raw, 3), round(100 * averaged, 3)))
    with nlp.use_params(adam.averages):
        folder.parent.mkdir(parents=True, exist_ok=True)
        nlp.to_disk(folder)
    return {"scores": scores, "seconds": seconds}


def publish(rows: List[Dict[str, Any]], page: Optional[Path]) -> None:
    cells, timed = [], []
    for name in TASKS:
        found = {row["system"]: row for row in rows if row["task"] == name}
        theirs = min(
            (row["speed"]["seconds"] for s, row in found.items() if s.startswith("spaCy") and "speed" in row),
            default=None,
        )
        for each in [each for each in systems_of(name) if each in found]:
            row, scores = found[each], found[each]["scores"]
            best = max(score for pair in scores for score in pair if score is not None)
            last = ["-" if score is None else f"{score:.2f}" for score in scores[-1]]
            cells.append((f"{name}: {each}", *last, f"{best:.2f}", str(len(scores)), f"{row['seconds']:.0f} s"))
            if "speed" in row and theirs is not None:
                spent = row["speed"]["seconds"]
                timed.append((f"{name}: {each}", f"{row['speed']['words'] / spent:,.0f}", f"{spent / theirs:.2f}"))
    for title, header, table in (("neural", HEADER, cells), ("speed", SPEED_HEADER, timed)):
        if page is None:
            show(header, table)
        elif table:
            write_table(page, title, header, table)


if __name__ == "__main__":
    typer.run(main)
