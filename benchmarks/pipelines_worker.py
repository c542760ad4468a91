"""One version of the package, run by `benchmarks.pipelines`: what some components take on raw text, as a line of JSON.

    python pipelines_worker.py ROOT JOB.json ROW

ROOT: the folder that the package is imported from. JOB: "model" (a folder in ROOT, or anywhere), "before" and "new"
(texts), "calls" (short texts), "rows" (name -> components, null = all). Run by path, so it imports nothing of the
benchmarks. The tokenizer alone is measured in the same process, with a vocabulary of its own.

Both have read the texts "before", so that the words of "new" are new to them. Processor time counts, since other work
on the machine makes all times longer.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List

PROBABILITIES = "probabilities"  # how the names of rows end that ask for them


def seconds_of(work: Callable[[Any], Iterable[Any]], given: Any) -> float:
    start = time.process_time()
    for _ in work(given):
        pass
    return time.process_time() - start


def measured(job: Dict[str, Any], root: Path, name: str) -> Dict[str, float]:
    """Microseconds a token: "tokenizer", "tokenizer again", "new", "again", "ready"; of a row of all components also
    milliseconds of one call, "call" and "call again"."""
    import spacy

    new: List[str] = job["new"]
    blank = spacy.blank("en")
    for _ in blank.tokenizer.pipe(job["before"]):
        pass
    seconds = {key: seconds_of(blank.tokenizer.pipe, new) for key in ("tokenizer", "tokenizer again")}
    components = job["rows"][name]
    nlp = spacy.load(root / job["model"])
    for other in set(nlp.pipe_names).difference(components or nlp.pipe_names):
        nlp.remove_pipe(other)
    if name.endswith(PROBABILITIES):
        nlp.get_pipe("hoseq_tagger").cfg["save_marginals"] = True
    for _ in nlp.pipe(job["before"]):
        pass
    seconds.update({key: seconds_of(nlp.pipe, new) for key in ("new", "again")})
    docs = list(nlp.tokenizer.pipe(new))
    n_tokens = sum(map(len, docs))
    seconds["ready"] = seconds_of(nlp.pipe, docs)
    found = {key: value / n_tokens * 1e6 for key, value in seconds.items()}
    if components is None:
        for key in ("call", "call again"):
            calls = [seconds_of(lambda text: [nlp(text)], text) for text in job["calls"]]
            found[key] = 1000 * statistics.median(calls)
    return found


if __name__ == "__main__":
    root = Path(sys.argv[1])
    sys.path[0] = str(root)
    print(json.dumps(measured(json.loads(Path(sys.argv[2]).read_text(encoding="utf8")), root, sys.argv[3])))
