"""What rules gain over the low-order tagger of Chinese, for several seeds: one run of each says little.

    python -m benchmarks.rules ctb=CORPUS ud=CORPUS [--seeds 3] [--page docs/measurements/chinese.md]

CORPUS: a folder with train.spacy and test.spacy, such as corpus/ctb_sdp and corpus/ud_chinese of the project, after the
name of the tag set. Both systems are trained by the recipes `tagger --lang zh` and `chinese` and measured after
the last epoch. p: McNemar's test on all corpora together.
"""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import spacy
import typer
from numpy.typing import NDArray
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from tqdm import tqdm
from wasabi import table

from spacy_hoseq.recipes import recipe
from spacy_hoseq.reporting.significance import mcnemar

from .page import write_table

TAG_SET = "components.hoseq_tagger.model.patterns.rules.tag_set"
COLUMNS = ("Corpus", "Seed", "Low order", "Rules", "Errors", "Gained/lost", "p", "Training", "Tagging")
PASSES = 5


def main(corpora: List[str], seeds: int = 3, page: Optional[Path] = None) -> None:
    named = dict(item.split("=", 1) for item in corpora)
    rows: List[List[str]] = []
    progress = tqdm(total=2 * seeds * len(named), unit=" runs")
    for seed in range(seeds):
        found = {name: measure(Path(path), name, seed, progress) for name, path in named.items()}
        rows += [row(name, seed, *both) for name, both in found.items()]
        low, rules = (np.concatenate([both[i][0] for both in found.values()]) for i in (0, 1))
        rows.append(row("together", seed, (low, 0.0, 0.0), (rules, 0.0, 0.0)))
    progress.close()
    print(table(rows, header=COLUMNS, divider=True))
    if page is not None:
        write_table(page, "rules", COLUMNS, rows)


Run = Tuple[NDArray[np.bool_], float, float]  # right (N,), seconds of training, of tagging


def measure(corpus: Path, tag_set: str, seed: int, progress: Any) -> Tuple[Run, Run]:
    """The low-order tagger, and that with rules."""
    runs = []
    for name, settings in (("tagger", {}), ("chinese", {TAG_SET: tag_set})):
        runs.append(run(recipe(name, "zh"), corpus, {**settings, "system.seed": seed}))
        progress.update()
    return runs[0], runs[1]


def run(config: str, corpus: Path, settings: Dict[str, Any]) -> Run:
    paths = {"paths.train": str(corpus / "train.spacy"), "paths.dev": str(corpus / "dev.spacy")}
    quiet = {"training.logger.progress_bar": None, "training.eval_frequency": 10_000}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        file = Path(folder) / "config.cfg"
        file.write_text(config, encoding="utf8")
        start = time.process_time()
        train(file, Path(folder), overrides={**paths, **quiet, **settings})
        training = time.process_time() - start
        nlp = spacy.load(Path(folder) / "model-last")
    docs = [s.as_doc() for d in DocBin().from_disk(corpus / "test.spacy").get_docs(nlp.vocab) for s in d.sents]
    gold = [token.tag for doc in docs for token in doc]
    times = []
    for _ in range(PASSES):
        words = [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]
        start = time.process_time()
        tagged = list(nlp.pipe(words))
        times.append(time.process_time() - start)
    guess = [token.tag for doc in tagged for token in doc]
    return np.array(guess) == np.array(gold), training, min(times)


def row(name: str, seed: int, low: Run, rules: Run) -> List[str]:
    test = mcnemar(low[0], rules[0])
    n_right = [int(system[0].sum()) for system in (low, rules)]
    change = (len(low[0]) - n_right[1]) / (len(low[0]) - n_right[0]) - 1
    ratios = [f"{b / a:.2f}x" if a else "" for a, b in ((low[1], rules[1]), (low[2], rules[2]))]
    accuracy = [f"{n:,} of {len(low[0]):,}" for n in n_right]
    return [name, str(seed), *accuracy, f"{change:+.1%}", f"+{test.gained} -{test.lost}", f"{test.p:.2g}", *ratios]


if __name__ == "__main__":
    typer.run(main)
