"""One version of the package, run by `benchmarks.pipelines`: what a pipeline takes on raw text, as a line of JSON.

    python pipelines_worker.py ROOT JOB.json

ROOT: the folder that the package is imported from. JOB: "model" (a folder in ROOT, or anywhere), "before" and "new"
(texts), "calls" (short texts), "rows" (name -> components). Run by path, so it imports nothing of the benchmarks.

Each row has a pipeline of its own that has read the texts "before", so that words of "new" are new to it. Processor
time counts, since other work on the machine makes all times longer.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List

CALL = "one call"


def seconds_of(work: Callable[[], Iterable[Any]]) -> float:
    start = time.process_time()
    for _ in work():
        pass
    return time.process_time() - start


def measured(job: Dict[str, Any], root: Path) -> Dict[str, Dict[str, float]]:
    """Of each row "new" and "seen", microseconds a token; of the calls, milliseconds."""
    import spacy

    model = root / job["model"]
    new: List[str] = job["new"]
    blank = spacy.blank("en")
    n_tokens = sum(map(len, blank.tokenizer.pipe(new)))
    found: Dict[str, Dict[str, float]] = {}
    for name, components in job["rows"].items():
        nlp = spacy.load(model)
        for other in set(nlp.pipe_names).difference(components or nlp.pipe_names):
            nlp.remove_pipe(other)
        tokenizer = nlp.tokenizer
        read = nlp.pipe if components != [] else tokenizer.pipe
        if name.endswith("probabilities"):
            nlp.get_pipe("hoseq_tagger").cfg["save_marginals"] = True
        for _ in read(job["before"]):
            pass
        seconds = {"new": seconds_of(lambda read=read: read(new))}
        seconds["again"] = seconds_of(lambda read=read: read(new))
        if components != []:
            docs = list(tokenizer.pipe(new))
            seconds["ready"] = seconds_of(lambda nlp=nlp, docs=docs: nlp.pipe(docs))
        found[name] = {key: value / n_tokens * 1e6 for key, value in seconds.items()}
        if components is None:
            found[CALL] = {
                key: 1000 * statistics.median(seconds_of(lambda text=text: [nlp(text)]) for text in job["calls"])
                for key in ("new", "again")
            }
    return found


if __name__ == "__main__":
    root = Path(sys.argv[1])
    sys.path[0] = str(root)
    print(json.dumps(measured(json.loads(Path(sys.argv[2]).read_text(encoding="utf8")), root)))
