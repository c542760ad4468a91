"""Instructions a token of each component of `en`, beside the committed table (instructions.json).

    python -m benchmarks.instructions [--save] [--committed]

They are counted by valgrind (`--tool=callgrind`) on 1,000 sentences and 100 paragraphs that this module makes, always
the same. Times of a shared machine vary by a tenth, these counts by a thousandth: a commit that makes a component 2 %
dearer says so in its message. It takes about five minutes. --save: write the table. --committed: only print it.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import srsly
import typer

import spacy_hoseq

from .machine import environment
from .page import show

TABLE = Path(__file__).with_suffix(".json")
Counts = dict[str, dict[str, float]]  # size -> component -> instructions a token
NOUNS = """dog river engine school report market window teacher village doctor garden letter winter bridge army paper
company city player minister problem decision road question house farmer price song boat valley child law""".split()
VERBS = "sees wants builds leaves finds opens reads sells paints follows visits closes keeps remembers".split()
PAST = "saw wanted built left found opened read sold painted followed visited closed kept remembered".split()
ADJECTIVES = (
    "old small green late quiet famous wooden new heavy strange public early cheap northern".split()
)
ADVERBS = "often slowly never again yesterday quickly almost here perhaps".split()
NAMES = (
    "Anna Smith London Peter Kenya Berlin Mary Jones Reuters Oslo Texas Dr. IBM Mr. UNESCO".split()
)
SYLLABLES = "ba ke lo mi nu ra si to ve zan dor fel gri hap".split()


def sentences(n_sentences: int) -> list[str]:
    """Sentences of about 17 words: of twenty words, one is invented and was never seen."""
    rng = random.Random(0)

    def noun_phrase() -> str:
        kind = rng.random()
        if kind < 0.3:
            return " ".join(rng.sample(NAMES, rng.choice([1, 1, 2])))
        noun = rng.choice(NOUNS)
        if kind < 0.5:
            noun = "".join(rng.choices(SYLLABLES, k=3))
        words = [rng.choice(["the", "a", "this", "her", "some"]), noun + rng.choice(["", "", "s"])]
        if kind > 0.7:
            words.insert(1, rng.choice(ADJECTIVES))
        return " ".join(words)

    texts = []
    for _ in range(n_sentences):
        clauses = []
        for _clause in range(rng.choice([1, 2, 2, 3])):
            words = [noun_phrase(), rng.choice(VERBS + PAST), noun_phrase()]
            words += rng.choice([[], [rng.choice(["in", "of", "with", "for"]), noun_phrase()]])
            words += rng.choice([[], [rng.choice(ADVERBS)], ["in", str(rng.randint(2, 2_000))]])
            clauses.append(" ".join(words))
        text = rng.choice([", and ", ", but ", " because ", "; "]).join(clauses)
        texts.append(text[0].upper() + text[1:] + rng.choice([".", ".", ".", "!", "?"]))
    return texts


def texts_of(size: str) -> list[str]:
    """1,000 sentences, or others in paragraphs of five."""
    made = sentences(1_500)
    if size == "sentences":
        return made[:1_000]
    return [" ".join(made[i : i + 5]) for i in range(1_000, 1_500, 5)]


SIZES = ("sentences", "paragraphs")


def work() -> None:
    """What is counted, in the process that valgrind runs. Between two calls of `os.getsid`, at which
    it writes down its counts, is the work of one component."""
    nlp = spacy_hoseq.load("en")
    for _ in nlp.pipe(sentences(20)):
        pass
    # nothing is counted before: it takes a sixth of the time
    subprocess.run(["callgrind_control", "-i", "on", str(os.getpid())], check=True, stdout=2)
    os.getsid(0)
    for size in SIZES:
        docs = [nlp.make_doc(text) for text in texts_of(size)]
        os.getsid(0)
        print(size, "tokenizer", sum(map(len, docs)))
        for name, pipe in nlp.pipeline:
            docs = list(pipe.pipe(docs, batch_size=nlp.batch_size))
            os.getsid(0)
            print(size, name, sum(map(len, docs)))


def counted() -> Counts:
    """Instructions a token, as they are now."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [
            "valgrind",
            "-q",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--dump-before=getsid",
        ]
        command += [f"--callgrind-out-file={out}", sys.executable]
        command += ["-m", "benchmarks.instructions", "work"]
        fixed = {**environment(), "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, env=fixed, check=True, stdout=subprocess.PIPE, text=True)
        totals = list(_totals(out))
    counts: Counts = {size: {} for size in SIZES}
    lines = [line.split() for line in done.stdout.splitlines()]
    # (before the first line lies the call that switches counting on)
    for (size, name, n_tokens), total in zip(lines, totals[1:], strict=True):
        counts[size][name] = round(total / int(n_tokens))
    for by_component in counts.values():
        by_component["all components"] = sum(by_component.values()) - by_component["tokenizer"]
    return counts


def _totals(out: Path) -> Iterator[int]:
    """The counts that were written down, in order."""
    n_dumps = len(list(out.parent.glob(f"{out.name}.*")))
    for i in range(1, n_dumps + 1):
        text = out.with_name(f"{out.name}.{i}").read_text()
        yield int(re.findall(r"^totals: (\d+)", text, re.MULTILINE)[0])


def main(
    save: bool = typer.Option(False, help="Write the table"),
    committed: bool = typer.Option(False, help="Only print the committed table"),
) -> None:
    before: Counts = srsly.read_json(TABLE) if TABLE.exists() else {}
    if not committed and not shutil.which("valgrind"):
        print("valgrind is not installed, so nothing is counted (apt-get install valgrind)")
        return
    now = before if committed else counted()
    rows = []
    for size, by_component in now.items():
        for name, count in by_component.items():
            row = [f"{size}: {name}", f"{count:,.0f}"]
            if not committed:
                old = before.get(size, {}).get(name, count)
                row += [f"{old:,.0f}", f"{count / old:.3f}"]
            rows.append(row)
    header = ("instructions a token", "now", "committed", "ratio")
    show(header[: len(rows[0])], rows)
    if save:
        srsly.write_json(TABLE, now)


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        typer.run(main)
