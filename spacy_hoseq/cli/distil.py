"""`python -m spacy hoseq distil`: a small pipeline of one's own from the labels that any pipeline gives
to texts."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config
from typer import Argument, Option

from ..components.extensions import MARGINALS, values_on
from ..errors import not_found, unknown_name, wrong_value
from ..pipelines import checked_language, folder_of
from ..pipelines.compaction.pipeline import check_output
from ..pipelines.distillation.card import card_of, meta_of, more_text, tables_of
from ..pipelines.distillation.silver import KINDS, Silver, kinds_in, refine, write_corpus
from ..pipelines.distillation.student import (
    configs_for,
    curve_of,
    joined,
    scores_of,
    speed_of,
    write_configs,
    write_shares,
)
from ..pipelines.names import check_name
from ..pipelines.treebanks.training import save
from ..readers.account import Account
from ..reporting.report import n_bytes
from .app import hoseq_cli, msg
from .apply import names_in, run
from .shared import (
    Code,
    Force,
    Install,
    NewPipeline,
    TextKey,
    Texts,
    arrow_needed,
    docs_in,
    progress,
    show_problems,
    write,
)
from .training import finish_pipeline, train_step

if TYPE_CHECKING:
    from ..batch.formats import Done
    from ..batch.teacher import Teacher

Result = dict[str, Any]  # as report.json has it


@hoseq_cli.command(
    "distil",
    failed="No pipeline made",
    interrupted="the same command goes on where this one stopped",
)
def distil_cli(
    teacher: Annotated[str, Argument(help="Folder or package of any pipeline, or en, zh, af, cy")],
    texts: Texts,
    output: NewPipeline,
    components: Annotated[
        str,
        Option("--components", help=f"Of {','.join(KINDS)}. Default: all that it sets"),
    ] = "",
    words: Annotated[
        int, Option("--words", min=1, help="Words that it annotates, at most")
    ] = 1_000_000,
    rename: Annotated[
        str,
        Option("--rename", help="Other types: PERSON=PER,ORG=ORG,*= (all others are left out)"),
    ] = "",
    threshold: Annotated[
        float,
        Option("--threshold", help="Names and tags less probable than this are unknown"),
    ] = 0.0,
    soft: Annotated[
        bool, Option("--soft", help="Learn from the probabilities of a teacher of ours")
    ] = False,
    gold: Annotated[
        Path | None,
        Option("--gold", help="Texts that people annotated, to learn from", exists=True),
    ] = None,
    gold_weight: Annotated[int, Option("--gold-weight", min=1, help="How often these count")] = 3,
    gold_test: Annotated[
        Path | None,
        Option("--gold-test", help="The same, for the test of both", exists=True),
    ] = None,
    curve: Annotated[
        bool, Option("--curve/--no-curve", help="Train on shares of the texts, too")
    ] = True,
    lang: Annotated[
        str, Option("--lang", "-l", help="Language of spaCy's. Default: the teacher's")
    ] = "",
    name: Annotated[
        str, Option("--name", help="Name of the pipeline, without its language")
    ] = "student",
    licence: Annotated[
        str,
        Option("--licence", help="Of the pipeline: what teacher and texts permit"),
    ] = "",
    n_process: Annotated[
        int, Option("--n-process", "-j", min=1, help="Processes that annotate")
    ] = 1,
    text_key: TextKey = "text",
    install: Install = False,
    force: Force = False,
    code: Code = None,
) -> None:
    """Make a small pipeline that labels as a large one does.

    \b
      hoseq distil en_core_web_trf texts/ -o student                  all that the teacher sets
      hoseq distil en_core_web_trf texts.jsonl -o student --components names --words 200000
      hoseq distil llm/ texts/ -o student --gold corrected.spacy --gold-test test.spacy --install

    The teacher annotates the texts, in parts; its answers and all trainings stay in OUTPUT-training.
    After an interruption the same command goes on.

    DOCS: docs/tasks/distil.md
    """
    with arrow_needed():
        from ..batch.inputs import InputOptions
        from ..batch.teacher import Teacher
    check_name(name)
    check_output(output, overwrite=force)
    wanted = kinds_named(components)
    changes = renaming(rename)
    work = output.with_name(f"{output.name}-training")
    account = Account()
    # what is wrong with people's labels shows before hours of annotation
    by_people = docs_in(gold, Vocab(), account) if gold else []
    test = docs_in(gold_test, Vocab(), account) if gold_test else []
    annotator = Teacher(teacher, probable=threshold > 0, soft=soft, code=code)
    started = time.perf_counter()
    teaching = annotator.loaded.nlp
    load_seconds = time.perf_counter() - started
    lang = checked_language(lang or str(teaching.lang))
    chosen = chosen_texts(texts, work, InputOptions(text=text_key), words, account)
    n_words = annotate(annotator, chosen, wanted, n_process, force)
    docs = [refine(doc, changes, threshold) for doc in annotated_docs(work)]
    kinds = known_kinds(docs, wanted)
    if soft:
        check_probabilities(docs, teacher)
    silver = write_corpus(work / "corpus", docs, kinds, by_people, gold_weight)
    steps = train_all(work, configs_for(silver, lang, soft=soft))
    nlp = joined(work, steps, teaching, lang)
    result: Result = {"lang": lang, "texts": ", ".join(texts), "curve": []}
    result |= measured(nlp, work, teaching, test, changes)
    if curve:
        result["curve"] = learning_curve(work, steps[-1], silver)
    meta = meta_of(name, lang, silver, result["agreement"], teaching.meta, licence)
    save(nlp, meta, output, overwrite=force)
    result["costs"] = costs_of(teacher, load_seconds, output, work)
    srsly.write_json(work / "report.json", result)
    write(output / "README.md", card_of(str(output), meta, teaching.meta, silver, result))
    show(result)
    finish_pipeline(output, account, {"Words by the teacher": n_words}, install=install, code=code)


def kinds_named(text: str) -> list[str]:
    """Kinds of annotation in a list such as "names,tags". RAISES ValueError [HS161]."""
    names = names_in(text)
    for name in names:
        if name not in KINDS:
            raise unknown_name(name, KINDS)
    return names


def renaming(text: str) -> dict[str, str]:
    """Types and their new names in a list such as "PERSON=PER,DATE=". RAISES ValueError [HS027]."""
    names = {}
    for pair in names_in(text):
        old, is_pair, new = pair.partition("=")
        if not is_pair:
            raise wrong_value("--rename", pair, "pairs such as PERSON=PER")
        names[old] = new
    return names


def chosen_texts(
    inputs: Sequence[str], work: Path, options: Any, n_words: int, account: Account
) -> Path:
    """Write the texts that the teacher annotates. RETURNS the file. RAISES ValueError [HS159]: there are
    none."""
    from ..batch.inputs import input_files
    from ..batch.teacher import choose_texts

    msg.info("Reading the texts")
    rows = choose_texts(input_files(inputs, work, account), options, n_words, account)
    if account.problems:
        show_problems(account.problems)
    if not rows:
        raise not_found("text", ", ".join(inputs), "texts that are shorter than --words")
    path = work / "texts.jsonl"
    write(path, rows)
    return path


def annotate(
    teacher: "Teacher", texts: Path, kinds: Sequence[str], n_process: int, force: bool
) -> int:
    """Annotate the texts that are not annotated yet. cost.json has the words, and the seconds of all
    processes together. RETURNS the number of words. RAISES ValueError [HS159]: the teacher sets
    nothing that could be learnt; and as `Job.to_folder`."""
    from ..batch.inputs import InputOptions
    from ..batch.job import Job

    # small parts, so that little is lost of an expensive teacher
    options = InputOptions(part_size=100)
    job = Job(teacher, [str(texts)], texts.parent / "annotated", "spacy", options)
    path = texts.parent / "cost.json"
    cost = {"words": 0, "seconds": 0.0}
    if path.exists():
        cost = srsly.read_json(path)
    now = time.perf_counter()

    def tell(done: "Done") -> None:
        nonlocal now
        # a teacher of nothing is found out before it has read everything
        if done.entry["file"].startswith("000000."):
            known_kinds(DocBin().from_bytes(done.data).get_docs(Vocab()), kinds)
        cost["words"] += done.entry["tokens"]
        cost["seconds"] += n_process * (time.perf_counter() - now)
        now = time.perf_counter()
        srsly.write_json(path, cost)

    try:
        state = run(job, n_process, False, tell)
    except ValueError as error:
        # other texts, or another teacher, than before
        if not force or not str(error).startswith(("[HS167]", "[HS178]")):
            raise
        cost = {"words": 0, "seconds": 0.0}
        state = run(job, n_process, True, tell)
    if state["errors"]:
        msg.warn(f"{state['errors']:,} texts without annotation: {job.output}/errors.jsonl")
    return int(cost["words"])


def known_kinds(docs: Iterable[Doc], wanted: Sequence[str]) -> list[str]:
    """The kinds of annotation that Docs have, of those that are wanted, if any are. RAISES ValueError
    [HS159]: none."""
    found = kinds_in(docs)
    kinds = [kind for kind in found if kind in (wanted or KINDS)]
    if not kinds or not {*wanted} <= {*kinds}:
        raise not_found(
            f"annotation of {', '.join(wanted) or 'any kind'}",
            f"the Docs of the teacher ({', '.join(found) or 'nothing is set'})",
            f"another teacher, or --components of {', '.join(KINDS)}",
        )
    return kinds


def annotated_docs(work: Path) -> list[Doc]:
    """The Docs that the teacher has annotated, in the order of the texts."""
    docs: list[Doc] = []
    vocab = Vocab()
    for path in progress(sorted((work / "annotated" / "parts").glob("*.spacy")), "parts"):
        docs += DocBin(store_user_data=True).from_disk(path).get_docs(vocab)
    return docs


def check_probabilities(docs: Iterable[Doc], teacher: str) -> None:
    """RAISES ValueError [HS159]: no Doc has the probabilities of its labels."""
    if not any(values_on(doc, MARGINALS) for doc in docs):
        needed = "a teacher that keeps them, of this package, or no --soft"
        raise not_found("probability of labels", teacher, needed)


def train_all(work: Path, configs: Mapping[str, Config]) -> list[str]:
    """Train with all configs. RETURNS the names of the steps, in the order of the pipeline."""
    write_configs(work, configs)
    for step in configs:
        train_step(work, step)
    return [*configs]


def measured(
    nlp: Language, work: Path, teacher: Language, gold: Sequence[Doc], rename: Mapping[str, str]
) -> dict[str, Any]:
    """How often a student agrees with its teacher, and if there are people's labels, the scores of
    both, from raw text."""
    test = docs_in(work / "corpus" / "test.spacy", Vocab(), Account())
    agreement = scores_of(nlp, nlp.pipe([doc.text for doc in test]), test)
    people = []
    if gold:
        texts = [doc.text for doc in gold]
        by_teacher = [refine(doc, rename) for doc in teacher.pipe(texts)]
        people = [scores_of(nlp, docs, gold) for docs in (by_teacher, nlp.pipe(texts))]
    return {"agreement": agreement, "people": people}


def learning_curve(work: Path, step: str, silver: Silver) -> list[tuple[int, float]]:
    """Words by the teacher, and the score after training on them, of four shares of the texts."""
    for share in write_shares(work, step, silver):
        train_step(work, share)
    return curve_of(work, step, silver)


def costs_of(
    teacher: str, load_seconds: float, student: Path, work: Path
) -> dict[str, tuple[float, float]]:
    """Words a second from raw text, megabytes, and seconds to load, of both. The speed of the teacher
    is that of the annotation."""
    cost = srsly.read_json(work / "cost.json")
    texts = [doc.text for doc in docs_in(work / "corpus" / "test.spacy", Vocab(), Account())]
    started = time.perf_counter()
    nlp = spacy.load(student)
    loaded = time.perf_counter()
    # words that it has seen are cached, so it begins with other texts
    middle = len(texts) // 2
    speed_of(nlp, texts[:middle])
    return {
        "words a second": (cost["words"] / cost["seconds"], speed_of(nlp, texts[middle:])),
        "megabytes": (n_bytes(folder_of(teacher)) / 1e6, n_bytes(student) / 1e6),
        "seconds to load": (load_seconds, loaded - started),
    }


def show(result: Result) -> None:
    """Show the tables of the card."""
    for header, rows in tables_of(result).values():
        msg.table(rows, header=header, divider=True, aligns=("l", "r", "r"))
    if result["curve"]:
        msg.text(more_text(result["curve"]))
