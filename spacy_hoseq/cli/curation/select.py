"""`python -m spacy hoseq select`: which texts of a pool to annotate next."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import srsly
import typer
from spacy.tokens import Doc, DocBin, SpanGroup
from spacy.util import minibatch
from wasabi import msg

from ...curation.selection import BATCH, Doubts, doubtful_tokens, doubts_of, select
from ...errors import Errors
from ...pipelines import load_found, run_code
from ...readers.files import find_files
from ...readers.sentences import Problem
from ...reporting.findings import task_of
from ..app import hoseq_cli, then
from ..files import FORCE, check_free, whole
from ..progress import progress
from ..texts import META, SUFFIXES, docs_of

SPANS_KEY = "doubtful"


@hoseq_cli.command("select", failed="Nothing selected")
def select_cli(
    # fmt: off
    model: str = typer.Argument(..., help="Directory or package of a trained pipeline, or en, zh, af, cy"),
    pool: Path = typer.Argument(
        ..., help="Texts (.jsonl, .txt: one in each line), Docs (.spacy), or folder", exists=True
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help=".jsonl or .spacy file to write", dir_okay=False
    ),
    n: int = typer.Option(200, "--number", "-n", min=1, help="Texts to select"),
    by: str = typer.Option(
        "entropy", "--by", help="Measure of doubt: entropy, margin or confidence"
    ),
    diverse: bool = typer.Option(
        True, "--diverse/--no-diverse", help="Avoid texts with the same doubtful words"
    ),
    per_word: bool = typer.Option(
        False, "--per-word", help="Annotation is paid by the word, not by the text"
    ),
    doubtful: float = typer.Option(
        0.05, "--doubtful", "-d", help="A word is doubtful if 1 - p(label) is above this"
    ),
    component: Optional[List[str]] = typer.Option(
        None, "--component", help="Default: all taggers and chunkers"
    ),
    text_key: str = typer.Option("text", "--text-key", "-tk", help="Field of the text in .jsonl"),
    force: bool = FORCE,
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """Select the texts of which a trained pipeline is least sure, the best first, and the doubtful
    words in them.

    DOCS: docs/tasks/select.md
    """
    run_code(code)
    if output.suffix not in (".jsonl", ".spacy"):
        expected = "a .jsonl or a .spacy file"
        raise ValueError(Errors.HS027.format(name="output", value=output, expected=expected))
    check_free(output, force)
    nlp = load_found(model)
    problems: List[Problem] = []
    docs = list(docs_of(nlp, find_files(pool, SUFFIXES), text_key, problems))
    if not docs:
        raise ValueError(
            Errors.HS159.format(what="text", source=pool, expected="lines with text, or Docs")
        )
    doubts = [
        one
        for batch in minibatch(progress(docs, "texts", len(docs)), BATCH)
        for one in doubts_of(nlp, batch, by, component or ())  # type: ignore[arg-type]
    ]
    chosen = select(doubts, n, diverse=diverse, per_word=per_word)
    write(output, [docs[i] for i in chosen], [doubts[i] for i in chosen], doubtful)
    words = sum(len(doubts[i].words) for i in chosen)
    asked = sum(len(doubtful_tokens(doubts[i], doubtful)) for i in chosen)
    msg.good(
        f"{len(chosen):,} of {len(docs):,} texts: {output}. {words:,} words, of which {asked:,} are doubtful"
    )
    then(f"label the doubtful words in {output}, and train with these texts, too")
    if problems:
        msg.warn("Without what is listed above", exits=1)


def write(path: Path, docs: Sequence[Doc], doubts: Sequence[Doubts], threshold: float) -> None:
    """Tasks for annotation tools, or Docs with the doubtful words as `doc.spans["doubtful"]`,
    scores: of doubt."""
    if path.suffix == ".jsonl":
        tasks = [task(doc, one, threshold) for doc, one in zip(docs, doubts, strict=True)]
        with whole(path) as part:
            srsly.write_jsonl(part, tasks)
        return
    for doc, one in zip(docs, doubts, strict=True):
        asked = doubtful_tokens(one, threshold).tolist()
        scores = one.doubtful[asked].tolist()
        spans = [doc[i : i + 1] for i in asked]
        doc.spans[SPANS_KEY] = SpanGroup(doc, name=SPANS_KEY, spans=spans, attrs={"scores": scores})
    with whole(path) as part:
        DocBin(docs=docs, store_user_data=True).to_disk(part)


def task(doc: Doc, doubts: Doubts, threshold: float) -> Dict[str, Any]:
    """A line of JSONL: text, tokens, what was beside the text, how doubtful it is, and its doubtful
    tokens."""
    asked = doubtful_tokens(doubts, threshold).tolist()
    words = [{"id": i, "doubt": round(float(doubts.doubtful[i]), 4)} for i in asked]
    meta = {**doc.user_data.get(META, {}), "doubt": round(doubts.of_text, 4)}
    return {**task_of(doc), "meta": meta, "doubtful": words}
