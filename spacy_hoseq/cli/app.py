"""The group of commands: `@hoseq_cli.command(...)` adds one."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer
from spacy.cli._util import app
from wasabi import Printer

from .. import __version__
from ..errors import Errors

msg = Printer()
# a file or a pipe is given no colours
msg.show_color = msg.show_color and sys.stdout.isatty()

Function = TypeVar("Function", bound=Callable[..., object])

EXAMPLES = """Exact sequence labelling: tags, chunks, entities, with probabilities.

\b
  hoseq tag "They tag it at once."                     a text, by the English pipeline
  hoseq tag report.txt --html                          a file, as a page in the browser
  hoseq apply en texts.jsonl -o annotated -j 4         any amount of text
  hoseq serve                                          a page for text that one types
  hoseq convert wsj/ -o train.spacy --format trees     a corpus that spaCy does not read
  hoseq init tagger --lang de -o tagger.cfg            a config, to train with `spacy train`
  hoseq report training/model-best test.spacy -o r     how good it is, and where it is wrong
  hoseq find-errors crf corpus.spacy -o doubts         likely annotation errors
  hoseq select en pool.jsonl -n 200 -o next.jsonl      texts to annotate next
  hoseq treebank UD_Welsh-CCG/ -o cy                   a whole pipeline from a treebank
  hoseq distil en_core_web_trf texts/ -o student       a small pipeline, taught by a large one
  hoseq adapt en chats.spacy -o mine                   a pipeline, adapted to texts of one's own
  hoseq clusters raw.txt -n 1000 -o clusters.tsv       word clusters, as features
  hoseq compact my_model dev.spacy -o small            a smaller model, as accurate
  hoseq package en --install                           the English pipeline for `spacy.load`

All after `python -m spacy`; `--help` after any of them says more."""


class Commands(typer.Typer):
    """The group of commands. A command that fails or is interrupted ends with a message, not with a
    traceback."""

    def command(  # type: ignore[override]
        self, name: str, *, failed: str, interrupted: str = "nothing is written", **settings: Any
    ) -> Callable[[Function], Function]:
        """Add a command.

        failed: title of the message about an error. interrupted: what the message after Ctrl-C says.
        settings: those of typer.
        """

        def join(function: Function) -> Function:
            @wraps(function)
            def run(*arguments: object, **options: object) -> None:
                try:
                    function(*arguments, **options)
                except (ImportError, OSError, ValueError) as error:
                    problem = str(error)
                    if isinstance(error, OSError) and not problem.startswith("[HS"):
                        problem = Errors.HS116.format(problem=problem)
                    # standard output is for results
                    with redirect_stdout(sys.stderr):
                        msg.fail(failed, problem, exits=1)
                except KeyboardInterrupt as error:
                    print(f"Interrupted: {interrupted}.", file=sys.stderr)
                    # a shell reports 128 and the number of the signal, 2
                    raise typer.Exit(getattr(error, "status", 130)) from error

            super(Commands, self).command(name, **settings)(run)
            return function

        return join


def done(what: object, step: str) -> None:
    """Say what was made, and what to do next."""
    msg.good(str(what))
    then(step)


def then(step: str) -> None:
    """Say what to do next."""
    print(f"Next: {step}")


# spaCy finds it by its entry point, spacy_cli: `python -m spacy hoseq`
hoseq_cli = Commands(name="hoseq", help=EXAMPLES, context_settings={"max_content_width": 100})
app.add_typer(hoseq_cli)


@hoseq_cli.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version of spacy_hoseq")
    ] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
