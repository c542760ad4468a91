"""Commands for training: `init` writes a config, `clusters` makes features of words from raw text,
`treebank` makes a whole pipeline from a treebank of Universal Dependencies."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import spacy
from spacy.tokens import Doc
from typer import Argument, Option

from ..arrays import Ints
from ..errors import not_found
from ..features.form_lexicons import lemma_lexicon, tag_lexicon
from ..features.word_clusters import Bigrams, bigrams_of, exchange_words
from ..pipelines import checked_language
from ..pipelines.compaction.pipeline import check_output
from ..pipelines.names import check_name
from ..pipelines.recipes import ALIASES, RECIPES, recipe
from ..pipelines.treebanks import download
from ..pipelines.treebanks.card import card_of, figures, licence_of, meta_of
from ..pipelines.treebanks.parts import contents_of
from ..pipelines.treebanks.project import PROJECT
from ..pipelines.treebanks.source import Treebank, treebank_in
from ..pipelines.treebanks.training import (
    STEPS,
    Lexicons,
    config_for,
    join,
    measure,
    rules_suffice,
    save,
    train_recipe,
)
from ..readers.account import Account
from .app import done, hoseq_cli, msg
from .model import package_cli
from .shared import (
    RAW_ENDINGS,
    Code,
    Force,
    Install,
    NewPipeline,
    TextKey,
    check_free,
    docs_of,
    finish,
    pipeline_of,
    progress,
    write,
)


def recipe_list() -> str:
    """What each recipe trains, for `init --help`."""
    others = {name: f" (or {other})" for other, name in ALIASES.items()}
    return "; ".join(f"{name}{others.get(name, '')}: {of.what}" for name, of in RECIPES.items())


@hoseq_cli.command("init", failed="Nothing written")
def init_cli(
    name: Annotated[str, Argument(metavar="RECIPE", help=recipe_list())],
    lang: Annotated[
        str | None,
        Option("--lang", "-l", help="Language of spaCy. Default: en; of chinese: zh"),
    ] = None,
    output: Annotated[
        str, Option("--output", "-o", help="File to write (-: standard output)")
    ] = "-",
    force: Force = False,
) -> None:
    """Write a config for `spacy train`, with comments.

    \b
      hoseq init tagger --lang de -o tagger.cfg
      hoseq init entities | less

    It is complete, and fits corpora of any size.

    DOCS: docs/reference/configs.md
    """
    text = recipe(name, lang)
    if output == "-":
        print(text, end="")
        return
    check_free(Path(output), force)
    write(Path(output), text)
    done(
        f"{output}: {RECIPES[ALIASES.get(name, name)].what}",
        f"python -m spacy train {output} --paths.train TRAIN.spacy --paths.dev DEV.spacy --output DIR",
    )


@hoseq_cli.command("clusters", failed="No clusters")
def clusters_cli(
    texts: Annotated[
        list[Path],
        Argument(help="Texts (.txt, .jsonl, also .gz), Docs (.spacy), or folders", exists=True),
    ],
    output: Annotated[
        Path,
        Option("--output", "-o", help="File to write: words and their clusters", dir_okay=False),
    ],
    n: Annotated[int, Option("--number", "-n", min=2, help="Clusters")] = 1000,
    min_count: Annotated[int, Option("--min-count", min=1, help="Rarer words get no cluster")] = 3,
    sweeps: Annotated[
        int,
        Option("--sweeps", "-i", min=1, help="How often each word is looked at, at most"),
    ] = 3,
    lang: Annotated[
        str, Option("--lang", "-l", help="Language whose tokenizer finds the words")
    ] = "en",
    model: Annotated[
        str,
        Option("--model", "-m", help="Pipeline whose tokenizer finds them, in place of --lang"),
    ] = "",
    code: Code = None,
    words: Annotated[
        bool, Option("--words", help="Words of texts are separated by spaces already")
    ] = False,
    text_key: TextKey = "text",
    force: Force = False,
) -> None:
    """Put words into clusters, from raw text.

    \b
      hoseq clusters raw.txt -n 1000 -o clusters.tsv
      hoseq clusters wiki/ --lang de -o clusters.tsv --min-count 5

    Words before and after them decide. Clusters are features for `word_classes.v1`.

    DOCS: docs/tasks/words.md
    """
    check_free(output, force)
    account = Account()
    nlp = pipeline_of(model, code) if model else spacy.blank(checked_language(lang))
    docs = docs_of(nlp, texts, text_key, account, words=words)
    bigrams, classes = clusters_of(docs, output, n, min_count, sweeps)
    account.wrote(output)
    finish(
        account,
        {"Texts": account.n_items, "Pairs of neighbours": int(bigrams.counts.sum())},
        f"{output}: {len(classes):,} words in {len(set(classes.tolist())):,} clusters",
        f'[initialize.lookups] @misc = "spacy_hoseq.word_classes.v1", path = "{output}"',
    )


def clusters_of(
    docs: Iterable[Doc], output: Path, n: int = 1000, min_count: int = 3, sweeps: int = 3
) -> tuple[Bigrams, Ints]:
    """Write the file of clusters. RETURNS pairs of neighbours, and the cluster of each word. RAISES
    ValueError [HS159]: too few words."""

    def sweep(words: range, i: int) -> Iterable[int]:
        return progress(words, f"words, sweep {i + 1}", len(words))

    bigrams = bigrams_of(docs, min_count)
    if not bigrams.words:
        raise not_found(
            f"word that occurs at least {min_count} times", "the text", "a smaller --min-count"
        )
    classes = exchange_words(bigrams, n, sweeps, sweep)
    write(output, "".join(lines(bigrams.words, classes)))
    return bigrams, classes


def lines(words: list[str], classes: Ints) -> list[str]:
    """Lines with a word and its cluster, by cluster, the most frequent words of each first."""
    # words are in the order of their frequency, which a stable sort keeps
    return [f"{words[i]}\t{classes[i]}\n" for i in classes.argsort(kind="stable").tolist()]


@hoseq_cli.command(
    "treebank",
    failed="No pipeline made",
    interrupted="the same command goes on with the step that it was at",
)
def treebank_cli(
    folder: Annotated[
        str, Argument(help="Folder of .conllu files, also .gz; or a name, such as UD_Irish-IDT")
    ],
    output: NewPipeline,
    lang: Annotated[
        str,
        Option("--lang", "-l", help="Language of spaCy's. Default: as the files are named, or xx"),
    ] = "",
    name: Annotated[
        str, Option("--name", help="Name of the pipeline, without its language")
    ] = "hoseq_sm",
    release: Annotated[
        str, Option("--release", help="Of Universal Dependencies, for a treebank by its name")
    ] = "2.16",
    raw: Annotated[
        Path | None, Option("--raw", help="Text, to make clusters of its words", exists=True)
    ] = None,
    lexicon: Annotated[
        Path | None,
        Option("--lexicon", help="Word forms with their tags", exists=True, dir_okay=False),
    ] = None,
    lemmas: Annotated[
        Path | None,
        Option("--lemmas", help="Word forms with their lemmas", exists=True, dir_okay=False),
    ] = None,
    install: Install = False,
    force: Force = False,
) -> None:
    """Make a whole pipeline from a treebank.

    \b
      hoseq treebank UD_Irish-IDT -o ga --install      fetched from its public repository
      hoseq treebank UD_Welsh-CCG/ -o cy --raw wiki.txt

    It finds sentences, tags, parts of speech, features and lemmas, and has a card that says how good
    it is. What was done stays in OUTPUT-training; the same command goes on from there.

    DOCS: docs/tasks/treebank.md
    """
    check_name(name)
    check_output(output, overwrite=force)
    # a folder beside the output: it stays, and an interrupted run goes on from it
    work = output.with_name(f"{output.name}-training")
    account = Account()
    treebank = treebank_in(folder_of_treebank(folder, work, release), lang, account)
    # whatever is wrong with these files shows before hours of training
    if lexicon:
        tag_lexicon(lexicon)
    if lemmas:
        lemma_lexicon(lemmas)
    lexicons = Lexicons(None, lexicon, lemmas)
    scores = run(treebank, work, output, name, lexicons, raw, account)
    msg.table(
        figures(scores), header=("", "gold words", "raw text"), divider=True, aligns=("l", "r", "r")
    )
    finish_pipeline(output, account, {"Words of the test part": scores["words"]}, install=install)


def finish_pipeline(
    output: Path,
    account: Account,
    counts: dict[str, int],
    *,
    install: bool,
    code: Path | None = None,
) -> None:
    """Install a pipeline that was made, if that is wanted, and end the command."""
    if install:
        package_cli(str(output), install=True, code=code)
    account.wrote(output)
    finish(
        account,
        counts,
        f'spacy.load("{output}"); its card: {output / "README.md"}',
        f'python -m spacy hoseq tag {output} "..."',
    )


def train_step(work: Path, name: str) -> None:
    """Train with configs/NAME.cfg, unless that is done."""
    msg.info(f"Training: {work / 'configs' / f'{name}.cfg'}")
    train_recipe(work, name)


def folder_of_treebank(place: str, work: Path, release: str) -> Path:
    """The folder of a treebank, which is fetched if it is given by its name."""
    folder = Path(place)
    if folder.exists() or not download.NAME.fullmatch(place):
        return folder
    found = download.downloaded(
        place, work / "source", release, lambda parts: progress(parts, "parts of 64 kB")
    )
    msg.info(f"{place} {release}, SHA-256 {download.source_of_files(found)['sha256']}")
    return found


def run(
    treebank: Treebank,
    work: Path,
    output: Path,
    name: str,
    lexicons: Lexicons,
    raw: Path | None,
    account: Account,
) -> dict[str, Any]:
    """Take all steps that are not done. RETURNS scores on the test part."""
    msg.info(f"{treebank.name}, language {treebank.lang}: reading")
    texts: list[Path] = []
    if raw is not None:
        texts = account.find(raw, RAW_ENDINGS)
    others = [*filter(None, lexicons), *texts]
    contents = contents_of(treebank, work / "corpus", account, others, progress)
    if raw is not None:
        clusters = work / "clusters.tsv"
        lexicons = lexicons._replace(clusters=clusters)
        if not clusters.exists():
            docs = docs_of(spacy.blank(treebank.lang), [raw], "text", account)
            clusters_of(docs, clusters)
    for step in STEPS:
        # the trained tokenizer finds sentences; spaCy's rules do not
        if step != "sentences" or rules_suffice(work, treebank.lang):
            config = work / "configs" / f"{step}.cfg"
            # a config that the user has changed is used as it is
            if not config.exists():
                write(config, config_for(step, treebank.lang, contents, lexicons).to_str())
            train_step(work, step)
    # the same steps as a project, for those who want to change one
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
