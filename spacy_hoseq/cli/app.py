"""The group of commands, which every command of this package joins with
`@hoseq_cli.command(...)`."""

import typer
from spacy.cli._util import app

EXAMPLES = """Exact sequence labelling: tags, chunks, entities, with probabilities.

\b
  hoseq tag "They tag it at once."                    tag a text, with the English pipeline of the package
  hoseq tag report.txt --html                         a file, as a page in the browser
  hoseq apply en texts.jsonl -o annotated/ -n 4       any amount of text, in several processes
  hoseq init tagger --lang de -o tagger.cfg           a config to train a tagger of your own with `spacy train`
  hoseq convert wsj/ train.spacy --format trees       a corpus that spaCy does not read
  hoseq serve                                         a page for text that one types (extra ui)
  hoseq find-errors corpus.spacy crf -o doubts        likely annotation errors, the most doubtful first
  hoseq select pool.jsonl en -n 200 -o next.jsonl     texts to annotate next
  hoseq report training/model-best test.spacy -o r    how a model did: accuracy, confusions, probabilities
  hoseq treebank UD_Welsh-CCG/ -o cy                  a whole pipeline from a treebank
  hoseq clusters raw.txt -n 1000 -o clusters.tsv      word clusters from raw text, as features
  hoseq compact training/model-best --dev dev.spacy   a smaller model of the same accuracy
  hoseq package en packages/                          the English pipeline as a package for `spacy.load`

All after `python -m spacy`; `--help` after any of them says more."""

hoseq_cli = typer.Typer(name="hoseq", help=EXAMPLES)
app.add_typer(hoseq_cli)


@hoseq_cli.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
