"""Commands for a pipeline of one's own: `init` writes a config to train with, `clusters` features of
words from raw text, `treebank` a whole pipeline from a treebank of Universal Dependencies."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.tokens import Doc
from wasabi import msg

from ..arrays import Ints
from ..errors import Errors
from ..features.exchange import Bigrams, bigrams_of, exchange_words
from ..features.forms import lemma_lexicon, tag_lexicon
from ..pipelines import checked_language
from ..pipelines.compaction.pipeline import check_output
from ..pipelines.names import check_name
from ..pipelines.recipes import ALIASES, RECIPES, recipe
from ..pipelines.treebanks.card import card_of, figures, licence_of, meta_of
from ..pipelines.treebanks.parts import contents_of
from ..pipelines.treebanks.project import PROJECT
from ..pipelines.treebanks.source import Treebank, treebank_in
from ..pipelines.treebanks.training import (
    RECIPES as STEPS,
)
from ..pipelines.treebanks.training import (
    Lexicons,
    config_for,
    join,
    measure,
    rules_suffice,
    save,
    train_recipe,
)
from .app import done, hoseq_cli
from .shared import (
    CODE,
    FORCE,
    TEXT_KEY,
    check_free,
    docs_of,
    pipeline_of,
    progress,
    write,
)

OTHER_NAMES = {name: f" (or {other})" for other, name in ALIASES.items()}
LIST = "; ".join(f"{name}{OTHER_NAMES.get(name, '')}: {of.what}" for name, of in RECIPES.items())
STANDARD_OUTPUT = Path("-")
COLUMNS = ("", "gold words", "raw text")
N_CLUSTERS = 1000
MIN_COUNT = 3  # of a word that has a cluster
SWEEPS = 3  # over all words


@hoseq_cli.command("init", failed="Nothing written")
def init_cli(
    # fmt: off
    name: str = typer.Argument(..., metavar="RECIPE", help=LIST),
    lang: str | None = typer.Option(
        None, "--lang", "-l", help="Language of spaCy. Default: en; of chinese: zh"
    ),
    output: Path = typer.Option(
        STANDARD_OUTPUT, "--output", "-o", help="File to write (-: standard output)"
    ),
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Write a config for `spacy train`, complete and with comments, that fits corpora of any size.

    DOCS: docs/reference/configs.md
    """
    text = recipe(name, lang)
    if output == STANDARD_OUTPUT:
        print(text, end="")
        return
    check_free(output, force)
    write(output, text)
    done(
        f"{output}: {RECIPES[ALIASES.get(name, name)].what}",
        f"python -m spacy train {output} --paths.train TRAIN.spacy --paths.dev DEV.spacy --output DIR",
    )


@hoseq_cli.command("clusters", failed="No clusters")
def clusters_cli(
    # fmt: off
    texts: list[Path] = typer.Argument(
        ..., help="Texts (.txt, .jsonl, also .gz), Docs (.spacy), or folders", exists=True
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="File to write: words and their clusters", dir_okay=False
    ),
    n: int = typer.Option(N_CLUSTERS, "--number", "-n", min=2, help="Clusters"),
    min_count: int = typer.Option(
        MIN_COUNT, "--min-count", min=1, help="Rarer words get no cluster"
    ),
    sweeps: int = typer.Option(
        SWEEPS, "--sweeps", "-i", min=1, help="How often each word is looked at, at most"
    ),
    lang: str = typer.Option("en", "--lang", "-l", help="Language whose tokenizer finds the words"),
    model: str = typer.Option(
        "", "--model", "-m", help="Pipeline whose tokenizer finds them, in place of --lang"
    ),
    code: Path | None = CODE,
    words: bool = typer.Option(
        False, "--words", help="Words of texts are separated by spaces already"
    ),
    text_key: str = TEXT_KEY,
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Put words into clusters by the words before and after them in raw text: features for
    `word_classes.v1`.

    DOCS: docs/tasks/words.md
    """
    check_free(output, force)
    problems: list[Any] = []
    nlp = pipeline_of(model, code) if model else spacy.blank(checked_language(lang))
    docs = docs_of(nlp, texts, text_key, problems, words=words)
    bigrams, classes = clusters_of(docs, output, n, min_count, sweeps)
    msg.text(f"{int(bigrams.counts.sum()):,} pairs of neighbours")
    done(
        f"{output}: {len(classes):,} words in {len(set(classes.tolist())):,} clusters",
        f'[initialize.lookups] @misc = "spacy_hoseq.word_classes.v1", path = "{output}"',
    )
    if problems:
        msg.warn("Without what is listed above", exits=1)


def clusters_of(
    docs: Iterable[Doc],
    output: Path,
    n: int = N_CLUSTERS,
    min_count: int = MIN_COUNT,
    sweeps: int = SWEEPS,
) -> tuple[Bigrams, Ints]:
    """Write the file of clusters. RETURNS pairs of neighbours, and the cluster of each word. RAISES
    ValueError [HS159]: too few words."""
    bigrams = bigrams_of(docs, min_count)
    if not bigrams.words:
        what = f"word that occurs at least {min_count} times"
        raise ValueError(
            Errors.HS159.format(what=what, source="the text", expected="a smaller --min-count")
        )
    classes = exchange_words(
        bigrams, n, sweeps, lambda words, i: progress(words, f"words, sweep {i + 1}", len(words))
    )
    write(output, "".join(lines(bigrams.words, classes)))
    return bigrams, classes


def lines(words: list[str], classes: Ints) -> list[str]:
    """Word and cluster, by cluster, the most frequent words of each first."""
    return [f"{words[i]}\t{classes[i]}\n" for i in classes.argsort(kind="stable").tolist()]


@hoseq_cli.command(
    "treebank",
    failed="No pipeline made",
    interrupted="the same command goes on with the step that it was at",
)
def treebank_cli(
    # fmt: off
    folder: Path = typer.Argument(..., help="Folder of .conllu files, also .gz", file_okay=False),
    output: Path = typer.Option(
        ..., "--output", "-o", help="Folder of the pipeline to write", file_okay=False
    ),
    lang: str = typer.Option(
        "", "--lang", "-l", help="Language of spaCy's. Default: as the files are named, or xx"
    ),
    name: str = typer.Option("hoseq", "--name", help="Name of the pipeline, without its language"),
    raw: Path | None = typer.Option(
        None, "--raw", help="Text, to make clusters of its words", exists=True
    ),
    lexicon: Path | None = typer.Option(
        None, "--lexicon", help="Word forms with their tags", exists=True, dir_okay=False
    ),
    lemmas: Path | None = typer.Option(
        None, "--lemmas", help="Word forms with their lemmas", exists=True, dir_okay=False
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
    treebank = treebank_in(folder, lang)
    for path, read in ((lexicon, tag_lexicon), (lemmas, lemma_lexicon)):
        if path:
            read(path)  # before any work
    scores = run(treebank, work, output, name, Lexicons(None, lexicon, lemmas), raw)
    msg.table(figures(scores), header=COLUMNS, divider=True, aligns=("l", "r", "r"))
    done(
        f'spacy.load("{output}"); its card: {output / "README.md"}',
        f'python -m spacy hoseq tag {output} "..."',
    )


def run(
    treebank: Treebank, work: Path, output: Path, name: str, lexicons: Lexicons, raw: Path | None
) -> dict[str, Any]:
    """All steps that are not done. RETURNS scores on the test part."""
    msg.info(f"{treebank.name}, language {treebank.lang}: reading")
    contents = contents_of(treebank, work / "corpus", progress)
    if raw is not None:
        lexicons = lexicons._replace(clusters=work / "clusters.tsv")
        if not (work / "clusters.tsv").exists():
            clusters_of(
                docs_of(spacy.blank(treebank.lang), [raw], "text", []), work / "clusters.tsv"
            )
    for step in STEPS:
        if step != "sentences" or rules_suffice(work, treebank.lang):
            config = work / "configs" / f"{step}.cfg"
            if not config.exists():  # one that is there already is used
                write(config, config_for(step, treebank.lang, contents, lexicons).to_str())
            msg.info(f"Training: {config}")
            train_recipe(work, step)
    write(work / "project.yml", PROJECT.format(output=output.name))
    msg.info("A smaller model, with probabilities that fit")
    nlp = join(work)
    scores = measure(nlp, work / "corpus" / "test.spacy")
    meta = meta_of(treebank, name, scores, lexicons)
    save(nlp, meta, output, overwrite=True)
    write(output / "README.md", card_of(treebank, str(output), meta, scores, contents))
    if treebank.licence:
        write(output / "LICENSE", licence_of(treebank, meta))
    return scores
