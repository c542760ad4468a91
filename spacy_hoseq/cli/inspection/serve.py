"""`python -m spacy hoseq serve`: a page for text that one types."""

from contextlib import suppress
from pathlib import Path
from typing import List, Optional

import typer
from wasabi import msg

from ...errors import Errors
from ...pipelines import run_code
from ..app import hoseq_cli, then
from ..tag import pipeline_of


@hoseq_cli.command("serve", failed="Nothing served")
def serve_cli(
    # fmt: off
    model: str = typer.Argument(
        "en", help="Directory or package of a trained pipeline, or en, zh, af, cy"
    ),
    host: str = typer.Option(
        "127.0.0.1", "--host", help="Address or name to listen on; 0.0.0.0: all, for everybody"
    ),
    port: int = typer.Option(8000, "--port", "-p", min=0, max=65535, help="0: any that is free"),
    component: Optional[List[str]] = typer.Option(
        None, "--component", help="Default: all taggers and chunkers"
    ),
    max_length: int = typer.Option(
        5000, "--max-length", min=1, help="Characters of the longest text"
    ),
    max_words: int = typer.Option(
        500, "--max-words", min=1, help="Words that a request may have reasons for"
    ),
    max_seconds: float = typer.Option(10.0, "--max-seconds", min=0.0, help="Of work for a request"),
    name: Optional[List[str]] = typer.Option(
        None, "--name", help="Another name that browsers use, or name:port"
    ),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """Serve a page for text that one types: words with their labels and probabilities, chunks, and
    for each of them its alternatives and reasons. Only this machine can reach it, unless --host
    says otherwise. Ctrl+C ends it.

    DOCS: docs/tasks/why.md
    """
    run_code(code)
    try:
        from ...reporting.serving import application, listening, names_of_server, server_of
    except ImportError as error:
        raise ValueError(
            Errors.HS170.format(package=error.name, install='"spacy-hoseq[ui]"')
        ) from error
    with listening(host, port) as listener:
        app = application(
            pipeline_of(model),
            component or None,
            max_length=max_length,
            max_words=max_words,
            max_seconds=max_seconds,
            hosts=[*names_of_server(host), *(name or ())],
        )
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        msg.good(address, "Ctrl+C ends it.")
        then("look at this page in a browser")
        with suppress(KeyboardInterrupt):
            server_of(app).run(sockets=[listener])
