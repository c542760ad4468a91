"""`python -m spacy hoseq explain`: why a text is labelled as it is."""

import json
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import typer
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from ...errors import Errors
from ...inspection import Explanation, explanations
from ...inspection.explanation import annotated, as_data, decisions, explained
from ...pipelines import run_code
from ...reporting.pages import uncalibrated
from ...reporting.text import explanation_text, notes_of, reasons_of, text_page
from ..app import hoseq_cli, then
from ..files import FORCE, check_free, write_text
from ..progress import progress
from ..tag import pipeline_of, texts_of, title_of


@hoseq_cli.command("explain", failed="Nothing explained")
def explain_cli(
    # fmt: off
    model: str = typer.Argument(
        ..., help="Directory or package of a trained pipeline, or en, zh, af, cy"
    ),
    text: str = typer.Argument("-", help="The text, or a file with it, or - for standard input"),
    token: Optional[List[int]] = typer.Option(
        None, "--token", "-t", help="Number of a token; default: the least sure"
    ),
    against: Optional[str] = typer.Option(
        None, "--against", "-a", help="Why not this label? (not the one that comes next)"
    ),
    component: Optional[List[str]] = typer.Option(
        None, "--component", help="Default: all taggers and chunkers"
    ),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Write a page on which each word opens its reasons"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON"),
    force: bool = FORCE,
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """Say why a token has its label, or a chunk is there, and not what comes next: the features,
    transitions and label patterns that the difference of the best labellings is the sum of.

    DOCS: docs/tasks/why.md
    """
    check_free(output, force)
    run_code(code)
    nlp = pipeline_of(model)
    names = having(nlp, explained(nlp, component or None), against)
    parts = [
        annotated(nlp, nlp.make_doc(part), names) for part in progress(texts_of(text), "texts")
    ]
    if not any(not token.is_space for doc, _ in parts for token in doc):
        raise ValueError(
            Errors.HS159.format(what="word", source="the text", expected="one with words")
        )
    if output:
        reasons = [list(progress(reasons_of(nlp, *part), "decisions")) for part in parts]
        docs = [doc for doc, _ in parts]
        title = title_of(text, nlp)
        write_text(output, text_page(docs, title=title, notes=notes_of(nlp), reasons=reasons))
        msg.good(str(output))
        then(f"look at {output}")
        return
    notes = uncalibrated(nlp, names)
    found = [pair for doc, seen in parts for pair in chosen(nlp, doc, seen, token, against)]
    if not found:
        source = f"what {', '.join(names)} found"
        raise ValueError(
            Errors.HS159.format(what="chunk", source=source, expected="a token of a chunk")
        )
    for doc, one in found:
        is_calibrated = one.component not in notes
        data = {"calibrated": is_calibrated, **as_data(one, doc)}
        said = explanation_text(one, doc, calibrated=is_calibrated)
        print(json.dumps(data, ensure_ascii=False) if as_json else said)
    for note in () if as_json else notes.values():
        print(note, file=sys.stderr)


def having(nlp: Language, names: Sequence[str], label: Optional[str]) -> List[str]:
    """Components that have a label, None = any. RAISES ValueError [HS146]: none has."""
    labels: Dict[str, Any] = {name: getattr(nlp.get_pipe(name), "labels", ()) for name in names}
    of_label = [name for name in names if label is None or label in labels[name]]
    if not of_label:
        known = "; ".join(f"{', '.join(of)} ({name})" for name, of in labels.items())
        raise ValueError(Errors.HS146.format(label=label, known=known))
    return of_label


def chosen(
    nlp: Language,
    doc: Doc,
    seen: Mapping[str, Doc],
    tokens: Optional[List[int]],
    against: Optional[str],
) -> Iterator[Tuple[Doc, Explanation]]:
    """Of some tokens, or of the least probable label of each component."""
    if tokens:
        yield from decisions(nlp, doc, seen, tokens, against)
        return
    for name, given in seen.items():
        every = explanations(nlp.get_pipe(name), given, reasons=False)
        least = sorted(every, key=lambda one: one.p)[:1]
        for one in least:
            yield from decisions(nlp, given, {name: given}, [one.first], against)
