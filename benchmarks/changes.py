"""Changes of recipes for names and for morphology, one at a time, over seeds.

    python -m benchmarks.changes metrics/changes.jsonl --data CORPORA [--corpus Resume] [--change "former templates"]
        [--seeds 3] [--page docs/measurements/names.md]

Every run is a line of the output file, and is not done again. A run trains for a fixed number of epochs, and is
measured on the dev part with the weights after the last one. The threshold of names is fitted on one half of the dev
part (Docs in turns) for the other half. p: paired t-test over seeds, against the recipe. Times: processor time of one
core over the recipe's.
"""

import gzip
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.readers.batches import shares
from spacy_hoseq.recipes import recipe

from .ablations import blank_of
from .page import ROOT, show, write_table
from .sizes_corpora import PER_DOC, Rows, Task, doc_of, sentences

RECIPE = "recipe"
TABLES = ("names", "morphology", "tags too")
N_BATCHES = 100
HEADER = ("Corpus: change", "score", "of each seed", "less recipe", "p", "training", "prediction")


class Corpus(NamedTuple):
    """task: recipe, language, training and dev part; without the latter every fifth Doc of the former. scores: what is
    compared, the main one first. sentences: the first so many of the training part, 0 = all. table: in which it is."""

    task: Task
    scores: Tuple[str, ...]
    epochs: int
    sentences: int = 0
    table: str = "names"


def treebank(lang: str, start: str, dev: str = "dev.conllu.gz") -> Corpus:
    files = (f"{start}train.conllu.gz", dev and f"{start}{dev}")
    return Corpus(Task("morphologizer", lang, files, 1, (3, 5)), ("morph", "both", "pos"), 6, table="morphology")


def tags(lang: str, start: str, dev: str, n: int = 0) -> Corpus:
    return Corpus(Task("tagger", lang, (f"{start}train.conllu.gz", f"{start}{dev}"), 1, (4,)), ("tag",), 8, n)


def names(lang: str, train: str, dev: str, word: int, n: int = 0) -> Corpus:
    return Corpus(Task("entities", lang, (train, dev), word, (), word + 1), ("F",), 10, n)


UNER = "uner_zh_gsdsimp/zh_gsdsimp-ud-{}.iob2.gz"
GUM = str(ROOT / "experiments/released/corpus/en/{}.spacy")  # of its step en-convert
CORPORA: Dict[str, Corpus] = {
    "Welsh": treebank("xx", "ud_cy_ccg/cy_ccg-ud-"),
    "Hungarian": treebank("hu", "ud_hu_szeged/"),
    "Finnish": treebank("fi", "ud_fi_tdt/", ""),
    "English": treebank("en", "en_ewt/")._replace(scores=("tag", "pos", "morph"), table="tags too"),
    "Afrikaans": treebank("af", "ud_af_afribooms/af_afribooms-ud-"),
    "Chinese tags": tags("zh", "zh_ud_gsd/", "dev.conllu"),
    "Chinese tags, 100 sentences": tags("zh", "zh_ud_gsd/", "dev.conllu", 100),
    "UNER Chinese": names("zh", UNER.format("train"), UNER.format("dev"), 1),
    "Resume": names("zh", "zh_ner_resume/train.char.bmes.gz", "zh_ner_resume/dev.char.bmes", 0),
    "Weibo": names("zh", "zh_ner_weibo/train.tsv", "zh_ner_weibo/dev.tsv", 0),
    "MSRA, 5,000 sentences": names("zh", "zh_ner_msra/train.tsv.gz", "zh_ner_msra/dev.tsv.gz", 0, 5000),
    "WNUT": names("en", "wnut17/train.conll.gz", "wnut17/dev.conll.gz", 0),
    "GUM": names("en", GUM.format("names/gum_train"), GUM.format("names_dev"), 0),
}


class Change(NamedTuple):
    """recipes, languages: that it is for, () = all languages. templates: a set in place of the recipe's. more:
    templates beside it. settings: by their paths, "." before those of the component. epochs: 0 = of the corpus.
    recipe: in place of that of the corpus."""

    recipes: Tuple[str, ...] = ("entities", "morphologizer", "tagger")
    templates: str = ""
    more: Tuple[str, ...] = ()
    settings: Dict[str, Any] = {}
    epochs: int = 0
    recipe: str = ""
    languages: Tuple[str, ...] = ()

    def is_for(self, task: Task) -> bool:
        return task.recipe in self.recipes and (not self.languages or task.lang in self.languages)


SETS = "spacy_hoseq.templates.v1"
NO_TABLE = {"initialize.lookups": None}
NO_NAMES = {
    "initialize.lookups.more": None,
    ".model.emissions.templates": {"@misc": SETS, "name": "entities", "classes": 4},
}
SEVERAL = ("known_tags[-1]+known_tags[0]+known_tags[1]", "known_tags[-1]+lower[0]", "lower[0]+known_tags[1]")
BESIDE = ("suffix2[-1]+suffix2[0]", "suffix2[0]+suffix2[1]", "suffix3[-1]+suffix3[1]", "suffix4[-1]+suffix2[0]")
LABELS_BESIDE = (*(f"known_tags[-1]+suffix{n}[0]" for n in (2, 3)), *(f"suffix{n}[0]+known_tags[1]" for n in (2, 3)))
BOTH_ENDS = ("prefix3[0]+suffix4[0]", "prefix4[0]+suffix2[0]", "prefix5[0]+suffix2[0]")
OF_FORM = ("infix7..9[0]", *BOTH_ENDS, "suffix4[0]+length[0]")
TAGS_TOO = {".with_tag": True}
CHANGES: Dict[str, Change] = {
    RECIPE: Change(),
    "no lists of names": Change(("entities",), settings=NO_NAMES, languages=("en",)),
    "no lexicon": Change(("entities",), "chinese_entities", settings=NO_TABLE, languages=("zh",)),
    "no lexicon, templates of characters": Change(
        ("entities",), "character_entities", settings=NO_TABLE, languages=("zh",)
    ),
    "no lexicon, tags": Change(("tagger",), "chinese_pos", settings=NO_TABLE, languages=("zh",)),
    "network": Change(("entities",), recipe="neural-entities"),
    "learn rate 0.02": Change(("morphologizer",), settings={".update_rule.learn_rate": 0.02}),
    "known tags of several words": Change(("morphologizer",), more=SEVERAL),
    "log likelihood": Change(("morphologizer",), settings={".objective": "log_likelihood"}),
    "10 epochs": Change(("morphologizer",), epochs=10),
    "12 epochs, average of all": Change(("morphologizer",), settings={".update_rule.average": True}, epochs=12),
    "dropout 0.5, 12 epochs": Change(("morphologizer",), settings={"training.dropout": 0.5}, epochs=12),
    "ends of neighbours": Change(("morphologizer",), more=BESIDE),
    "known tags of neighbours with ends": Change(("morphologizer",), more=LABELS_BESIDE),
    "more of the form": Change(("morphologizer",), more=OF_FORM),
    "label pairs": Change(("morphologizer",), settings={".model.label_pairs": True}),
    "tags alone": Change(("morphologizer",), recipe="tagger"),
    "tags, too": Change(("morphologizer",), settings=TAGS_TOO),
}

def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    corpus: Optional[List[str]] = None,
    change: Optional[List[str]] = None,
    seeds: int = 1,
    page: Optional[Path] = None,
) -> None:
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    for name in corpus or CORPORA:
        of_corpus = CORPORA[name]
        fitting = [each for each, made in CHANGES.items() if made.is_for(of_corpus.task)]
        done = {(row["change"], row["seed"]) for row in rows if row["corpus"] == name}
        for seed in range(seeds):
            for each in [each for each in fitting if not change or each in change]:
                if (each, seed) in done:
                    continue
                rows.append({"corpus": name, "change": each, "seed": seed, **run(of_corpus, CHANGES[each], data, seed)})
                srsly.write_jsonl(output, rows)
                msg.text(f"{name}, {each}, {seed}: {rows[-1]['scores']}, {rows[-1]['training']:.0f} s")
    for title in TABLES:
        mine = [row for row in rows if CORPORA[row["corpus"]].table == title]
        if mine:
            show(HEADER, list(table(mine)))
        if page is not None and mine:
            of_page = [row for row in mine if not corpus or row["corpus"] in corpus]
            write_table(page, title, HEADER, list(table(of_page, main_only=title != TABLES[-1])))


def run(corpus: Corpus, change: Change, data: Path, seed: int) -> Dict[str, Any]:
    """Scores on the dev part, and seconds."""
    start = time.process_time()
    nlp = trained(corpus, change, data, seed)
    training = time.process_time() - start
    golds = list(part_of(nlp, corpus, data, is_dev=True))
    list(nlp.pipe([blank_of(doc) for doc in golds]))  # (what is kept of words is made now)
    texts = [blank_of(doc) for doc in golds]
    start = time.process_time()
    list(nlp.pipe(texts))
    prediction = time.process_time() - start
    scores = of_names(nlp, golds) if corpus.task.recipe == "entities" else of_words(nlp, golds)
    scores = {name: scores[name] for name in corpus.scores}
    return {"scores": scores, "training": training, "prediction": prediction}


def trained(corpus: Corpus, change: Change, data: Path, seed: int) -> Language:
    fix_random_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.spacy"
        blank = spacy.blank(corpus.task.lang)
        DocBin(docs=part_of(blank, corpus, data, is_dev=False)).to_disk(path)
        nlp = load_model_from_config(config_of(corpus.task, change, str(path), seed), auto_fill=True)
        golds = list(DocBin().from_disk(path).get_docs(nlp.vocab))
        texts = [Example(blank_of(gold), gold) for gold in golds]
        nlp.initialize(lambda: texts)
    rng = np.random.default_rng(seed)
    drop = nlp.config["training"]["dropout"]
    for _ in range(change.epochs or corpus.epochs):
        for batch in shares([texts[i] for i in rng.permutation(len(texts))], N_BATCHES):
            nlp.update(batch, drop=drop)
    return nlp


def config_of(task: Task, change: Change, path: str, seed: int) -> Config:
    text = recipe(change.recipe or task.recipe, task.lang)
    config = Config().from_str(text, interpolate=False, overrides={"paths.train": path, "system.seed": seed})
    (name,) = config["components"]
    emissions = config["components"][name]["model"]["emissions"]
    emissions = emissions.get("first", emissions)
    if change.templates:
        emissions["templates"] = {"@misc": SETS, "name": change.templates}
    if change.more:
        known = spacy.registry.resolve({"set": emissions["templates"]})["set"]
        emissions["templates"] = [*known, *change.more]
    for key, value in change.settings.items():
        *above, last = (f"components.{name}{key}" if key.startswith(".") else key).split(".")
        section: Any = config
        for part in above:
            section = section[part]
        section[last] = value
    return config.interpolate()


def part_of(nlp: Language, corpus: Corpus, data: Path, *, is_dev: bool) -> Iterator[Doc]:
    train, dev = corpus.task.files
    if is_dev and dev:
        yield from docs_of(nlp, corpus, data / dev)
        return
    for i, doc in enumerate(docs_of(nlp, corpus, data / train, corpus.sentences)):
        if dev or (i % 5 == 4) == is_dev:
            yield doc


def docs_of(nlp: Language, corpus: Corpus, path: Path, n: int = 0) -> Iterator[Doc]:
    """Of ten sentences, or as a .spacy file has them."""
    if path.suffix == ".spacy":
        yield from DocBin().from_disk(path).get_docs(nlp.vocab)
        return
    if corpus.task.recipe == "morphologizer":
        text = gzip.decompress(path.read_bytes()).decode("utf8")
        for doc in conllu_to_docs(text, n_sents=PER_DOC, no_print=True):
            yield Doc(nlp.vocab).from_bytes(doc.to_bytes())
        return
    rows = [sentence for sentence in map(without_comments, sentences(path)) if sentence][: n or None]
    for i in range(0, len(rows), PER_DOC):
        yield doc_of(nlp.vocab, corpus.task, rows[i : i + PER_DOC])


def without_comments(rows: Rows) -> Rows:
    return [row for row in rows if row[0] != "#"]


def of_words(nlp: Language, golds: List[Doc]) -> Dict[str, float]:
    """Shares of words with the right tag, part of speech, features, and the last two."""
    docs = nlp.pipe([blank_of(gold) for gold in golds])
    pairs = [(t, g) for doc, gold in zip(docs, golds, strict=True) for t, g in zip(doc, gold, strict=True)]
    pos = np.array([t.pos == g.pos for t, g in pairs])
    morph = np.array([str(t.morph) == str(g.morph) for t, g in pairs])
    tag = np.array([t.tag == g.tag for t, g in pairs])
    right = {"tag": tag, "pos": pos, "morph": morph, "both": pos & morph}
    return {name: float(each.mean()) for name, each in right.items()}


def of_names(nlp: Language, golds: List[Doc]) -> Dict[str, float]:
    """F of names, each half with the threshold that is best on the other."""
    (name,) = nlp.pipe_names
    component: Any = nlp.get_pipe(name)
    counts = np.zeros(3)
    for half in (0, 1):
        component.fit_threshold([Example(blank_of(gold), gold) for gold in golds[half::2]])
        measured = golds[1 - half :: 2]
        for doc, gold in zip(nlp.pipe([blank_of(gold) for gold in measured]), measured, strict=True):
            found, wanted = ({(e.start, e.end, e.label_) for e in each.ents} for each in (doc, gold))
            counts += [len(found & wanted), len(found), len(wanted)]
    return {"F": float(2 * counts[0] / (counts[1] + counts[2]))}


def table(rows: List[Dict[str, Any]], *, main_only: bool = False) -> Iterator[List[str]]:
    """Each change beside the recipe, or where that sets no such labels, beside the first that does. main_only: of each
    corpus, the first of its scores."""
    for name, corpus in CORPORA.items():
        for score in corpus.scores[:1] if main_only else corpus.scores:
            made = [row for row in rows if row["corpus"] == name and sets(row["change"], score)]
            runs = {change: [row for row in made if row["change"] == change] for change in CHANGES}
            base = {row["seed"]: row for row in next(filter(None, runs.values()), [])}
            for change, of_change in runs.items():
                mine = [row for row in of_change if row["seed"] in base]
                if mine:
                    yield [f"{name}, {score}: {change}", *cells(score, [base[row["seed"]] for row in mine], mine)]


def sets(change: str, score: str) -> bool:
    """Whether a component sets what is scored."""
    alone = CHANGES[change].recipe == "tagger"
    return score == "tag" if alone else score != "tag" or CHANGES[change].settings == TAGS_TOO


def cells(score: str, base: Sequence[Dict[str, Any]], mine: Sequence[Dict[str, Any]]) -> List[str]:
    before, after = (np.array([100 * row["scores"][score] for row in part]) for part in (base, mine))
    is_base = base[0]["change"] == mine[0]["change"]
    ratios = [sum(row[key] for row in mine) / sum(row[key] for row in base) for key in ("training", "prediction")]
    p = paired_t_test(after - before)
    return [
        f"{after.mean():.2f}",
        ", ".join(f"{each:.2f}" for each in after),
        "" if is_base else f"{(after - before).mean():+.2f}",
        "" if is_base or p is None else f"{p:.2g}",
        *(f"{ratio:.2f}x" for ratio in ratios),
    ]


def paired_t_test(differences: Sequence[float]) -> Optional[float]:
    """Two-sided p of Student's t for differences whose mean is 0; None with fewer than three, or without variance.

    P(|T| > t) is the share of  integral cos(a)^(n - 2) da  from atan(t / sqrt(n - 1)) on, of that from 0 to pi / 2.
    """
    n = len(differences)
    spread = np.std(differences, ddof=1) if n > 2 else 0.0
    if spread < 1e-9:  # (rounding)
        return None
    t = abs(np.mean(differences)) / (spread / np.sqrt(n))
    start = np.arctan(t / np.sqrt(n - 1))
    points = (np.arange(10_000) + 0.5) / 10_000
    tail, whole = (
        (end - low) * np.mean(np.cos(low + (end - low) * points) ** (n - 2))
        for low, end in ((start, np.pi / 2), (0.0, np.pi / 2))
    )
    return float(tail / whole)


if __name__ == "__main__":
    typer.run(main)
