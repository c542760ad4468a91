"""How large the groups of states and transitions are that Qian et al. (2009) form (grouped.py), in models that were
learnt, beside what our sums go through.

    python groups.py METRICS.jsonl [--letters letter.data.gz] [--tags MODEL --tagged DOCS.spacy]
        [--names ../organisations] [--sequences 20]

Of each model some sequences of a part that it was not trained on, drawn at random. Letters are learnt here, from
fold 0; a tagger and the names of organisations were trained before. Every row of METRICS.jsonl is made once; a model
that is not there is left out.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import spacy
import srsly
import typer
from grouped import Forward, forward, higher_configurations, local_configurations
from letters import FOLDS, Learner, letter_corpus, trained
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from wasabi import msg

from spacy_hoseq.decoders.answers import posterior
from spacy_hoseq.decoders.patterns.inclusive_sums import keeps_digits
from spacy_hoseq.decoders.patterns.longest_match import MatchArcs
from spacy_hoseq.decoders.problem import Potentials

ORDERS = (3, 5, 7)
EPOCHS = 10  # of the letters
CORPORA = ("pfr", "msra", "resume")
ROUNDS = 3
TIMED = 10  # sequences
COUNTED = ("states", "transitions", "ungrouped")
Measure = Callable[[], list[Potentials]]


def main(  # wide: a model of each kind
    output: Path,
    letters: Annotated[Path | None, typer.Option(help="letter.data, plain or gzipped")] = None,
    tags: Annotated[Path | None, typer.Option(help="a pipeline with hoseq_tagger")] = None,
    tagged: Annotated[Path | None, typer.Option(help="docs for it")] = None,
    names: Annotated[
        Path | None, typer.Option(help="the project of the names, with what it has trained")
    ] = None,
    seed: Annotated[int, typer.Option(help="of the names")] = 0,
    sequences: Annotated[int, typer.Option(help="of each model")] = 20,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for system, make in models(letters, tags, tagged, names, seed, sequences):
        if not any(row["system"] == system and row["sequences"] == sequences for row in rows):
            msg.text(system)
            rows.append({"system": system, "sequences": sequences, **measured(make())})
            srsly.write_jsonl(output, rows)


def models(  # wide: as `main`
    letters: Path | None,
    tags: Path | None,
    tagged: Path | None,
    names: Path | None,
    seed: int,
    n: int,
) -> Iterator[tuple[str, Measure]]:
    """Names, and what gives the potentials of some sequences."""
    if letters is not None:
        for order in ORDERS:
            yield (
                f"letters, order {order}",
                lambda data=letters, order=order: of_letters(data, order, n),
            )
    if tags is not None and tagged is not None:
        yield "tags, order 2", lambda: of_docs(tags, tagged, "hoseq_tagger", n)
    for corpus in CORPORA if names is not None else ():
        model = Path(f"{names}/training/org/{seed}/{corpus}/patterns/model-last")
        docs = Path(f"{names}/corpus/org/{corpus}_dev.spacy")
        if model.exists() and docs.exists():
            yield (
                f"names, {corpus}",
                lambda model=model, docs=docs: of_docs(model, docs, "hoseq_chunker", n),
            )


def of_letters(data: Path, order: int, n: int) -> list[Potentials]:
    nlp, _ = trained(Learner("crf", order, "exact", EPOCHS, 0), data)
    test = [example.reference for example in letter_corpus(data, list(FOLDS[1:]))(nlp)]
    return potentials_of(nlp, "hoseq_tagger", test, n)


def of_docs(model: Path, docs: Path, component: str, n: int) -> list[Potentials]:
    nlp = spacy.load(model)
    return potentials_of(nlp, component, list(DocBin().from_disk(docs).get_docs(nlp.vocab)), n)


def potentials_of(nlp: Language, component: str, docs: list[Doc], n: int) -> list[Potentials]:
    """Of some of them, what the component decodes: without labels that it cannot write."""
    random.Random(0).shuffle(docs)
    pipe: Any = nlp.get_pipe(component)
    potentials = pipe.read(
        [Doc(nlp.vocab, [token.text for token in doc]) for doc in docs[:n]]
    ).potentials
    return [one.potentials for one in potentials.one_by_one()]


def measured(sequences: list[Potentials]) -> dict[str, Any]:
    """Sums over all tokens. difference: the largest between log z of the recursion and ours. ratios: processor time of
    the recursion over that of ours, in each round of some of the sequences."""
    row: dict[str, Any] = {
        "tokens": 0,
        "labels": sequences[0].weights.n_labels,
        "fired": 0,
        "ours": 0,
    }
    row |= {"nodes": len(sequences[0].weights.trie), "difference": 0.0}
    row |= {kind: dict.fromkeys(COUNTED, 0) for kind in ("all", "higher")}
    for potentials in sequences:
        n_tokens = len(potentials.scores)
        some = higher_configurations(potentials)
        everything = forward(*potentials.scores.shape, local_configurations(potentials) + some)
        add(row["all"], everything)
        add(row["higher"], forward(*potentials.scores.shape, some))
        row["tokens"] += n_tokens
        row["fired"] += len(some)
        row["ours"] += n_tokens * n_sums(potentials)
        difference = abs(everything.log_z - float(posterior(potentials).log_z[0]))
        row["difference"] = max(row["difference"], difference)
    row["difference"] = f"{row['difference']:.1e}"  # srsly writes ten decimals
    return {**row, "ratios": [ratio(sequences[:TIMED]) for _ in range(ROUNDS)]}


def add(total: dict[str, int], one: Forward) -> None:
    for name in COUNTED:
        total[name] += sum(getattr(one, name))


def n_sums(potentials: Potentials) -> int:
    """Products that our forward sums of one sequence add up at a token, at the first one too: of each pair of labels,
    and of each node of two or more labels two, one for its message and one for its failure link. Where digits would be
    lost: arcs between longest matches."""
    weights = potentials.weights
    if potentials.edge_scores is None and keeps_digits(potentials):
        return weights.n_labels**2 + 2 * (len(weights.trie) - weights.n_labels)
    return len(weights.prepared(MatchArcs).arcs.source)


def ratio(sequences: list[Potentials]) -> float:
    """Sequence by sequence in turn. The recursion has its configurations made before, and goes one way; ours goes both
    ways."""
    seconds = [0.0, 0.0]
    for potentials in sequences:
        configurations = local_configurations(potentials) + higher_configurations(potentials)
        start = time.process_time()
        forward(*potentials.scores.shape, configurations)
        between = time.process_time()
        float(posterior(potentials).log_z[0])
        seconds[0] += between - start
        seconds[1] += time.process_time() - between
    return seconds[0] / seconds[1]


if __name__ == "__main__":
    typer.run(main)
