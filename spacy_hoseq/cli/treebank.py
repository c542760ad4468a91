"""`python -m spacy hoseq treebank`: a whole pipeline from one treebank of Universal
Dependencies."""

from pathlib import Path
from typing import Any, Dict, Optional

import spacy
import typer
from thinc.api import Config
from wasabi import msg, table

from ..compaction.pipeline import check_output
from ..errors import Errors
from ..lexicons import lemma_lexicon, tag_lexicon
from ..readers.files import find_files
from ..treebanks.card import card_of, figures, licence_of, meta_of
from ..treebanks.parts import write_parts
from ..treebanks.project import PROJECT
from ..treebanks.source import Treebank, download, treebank_in
from ..treebanks.training import (
    RECIPES,
    Lexicons,
    config_for,
    join,
    measure,
    read_contents,
    rules_suffice,
    save,
    train_recipe,
    write_contents,
)
from .app import hoseq_cli, then
from .clusters import clusters_of
from .files import FORCE, check_name, write_text
from .progress import progress
from .texts import docs_of

N_CLUSTERS = 1000
MIN_COUNT = 3
SWEEPS = 3


@hoseq_cli.command(
    "treebank",
    failed="No pipeline made",
    interrupted="the same command goes on with the step that it was at",
)
def treebank_cli(
    # fmt: off
    folder: Optional[Path] = typer.Argument(
        None, help="Folder of .conllu files, also .gz", file_okay=False
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="Folder of the pipeline to write", file_okay=False
    ),
    lang: str = typer.Option(
        "", "--lang", "-l", help="Language of spaCy's. Default: as the files are named, or xx"
    ),
    name: str = typer.Option("hoseq", "--name", help="Name of the pipeline, without its language"),
    raw: Optional[Path] = typer.Option(
        None, "--raw", help="Text, to make clusters of its words", exists=True
    ),
    lexicon: Optional[Path] = typer.Option(
        None, "--lexicon", help="Word forms with their tags", exists=True, dir_okay=False
    ),
    lemmas: Optional[Path] = typer.Option(
        None, "--lemmas", help="Word forms with their lemmas", exists=True, dir_okay=False
    ),
    fetch: str = typer.Option(
        "", "--download", help="Treebank to fetch, in place of FOLDER: UD_Afrikaans-AfriBooms"
    ),
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Make a pipeline for `spacy.load` from a treebank: sentences, tags, parts of speech, features
    and lemmas, with a card that says how good it is. What was done stays in OUTPUT-training; the
    same command goes on from there.

    DOCS: docs/tasks/treebank.md
    """
    check_name(name)
    check_output(output, overwrite=force)
    work = output.with_name(f"{output.name}-training")
    if (folder is None) == (not fetch):
        raise ValueError(
            Errors.HS159.format(
                what="one treebank",
                source="the command",
                expected="its folder, or its name after --download, not both",
            )
        )
    source = folder or (work / "treebank" / fetch)
    if fetch and not source.is_dir():
        source = download(fetch, work / "treebank")
    treebank = treebank_in(source, lang)
    if lexicon:
        tag_lexicon(lexicon)
    if lemmas:
        lemma_lexicon(lemmas)
    scores = run(treebank, work, output, name, Lexicons(None, lexicon, lemmas), raw)
    print(
        table(
            figures(scores),
            header=("", "gold words", "raw text"),
            divider=True,
            aligns=("l", "r", "r"),
        )
    )
    msg.good(f'spacy.load("{output}"); its card: {output / "README.md"}')
    then(f'python -m spacy hoseq tag {output} "..."')


def run(
    treebank: Treebank, work: Path, output: Path, name: str, lexicons: Lexicons, raw: Optional[Path]
) -> Dict[str, Any]:
    """All steps that are not done. RETURNS scores on the test part."""
    corpus = work / "corpus"
    parts = corpus / "parts.json"
    if not parts.exists():
        msg.info(f"{treebank.name}, language {treebank.lang}: reading")
        write_contents(parts, treebank, write_parts(treebank, corpus, progress))
    contents = read_contents(parts, treebank)
    if raw is not None:
        clusters = with_clusters(raw, treebank.lang, work / "clusters.tsv")
        lexicons = lexicons._replace(clusters=clusters)
    for recipe in RECIPES:
        if recipe != "sentences" or rules_suffice(work, treebank.lang):
            train_step(work, recipe, config_for(recipe, treebank.lang, contents, lexicons))
    (work / "project.yml").write_text(PROJECT.format(output=output.name), encoding="utf8")
    msg.info("A smaller model, with probabilities that fit")
    nlp = join(work)
    scores = measure(nlp, corpus / "test.spacy")
    meta = meta_of(treebank, name, scores, lexicons)
    save(nlp, meta, output, overwrite=True)
    write_text(output / "README.md", card_of(treebank, str(output), meta, scores, contents))
    if treebank.licence:
        write_text(output / "LICENSE", licence_of(treebank, meta))
    return scores


def train_step(work: Path, recipe: str, config: Config) -> None:
    """A config that is there already is used in place of this one."""
    path = work / "configs" / f"{recipe}.cfg"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        config.to_disk(path)
    msg.info(f"Training: {path}")
    train_recipe(work, recipe)


def with_clusters(raw: Path, lang: str, path: Path) -> Path:
    """The file of clusters of the words of raw text, as `hoseq clusters` makes them. RAISES
    ValueError [HS159]: too few words."""
    if path.exists():
        return path
    nlp = spacy.blank(lang)
    docs = docs_of(nlp, find_files(raw, [".txt", ".jsonl"]), "text", [])
    clusters_of(docs, path, N_CLUSTERS, MIN_COUNT, SWEEPS)
    return path
