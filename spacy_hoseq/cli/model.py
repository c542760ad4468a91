"""Commands for a trained pipeline: `report` says how good it is, `inspect` what it has learnt,
`calibrate` and `compact` write a better and a smaller one, `package` makes one to install."""

import json
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import srsly
from spacy.cli._util import string_to_list
from spacy.cli.package import get_build_formats, package
from spacy.language import Language
from spacy.training import Example
from spacy.util import run_command
from tqdm import tqdm
from typer import Argument, Option

from ..errors import not_found
from ..inspection.calibration import Calibration, calibrate
from ..inspection.reading import own_components
from ..inspection.weights import NAMES_FILE, Table, inspected, names_in
from ..pipelines import folder_of
from ..pipelines.compaction.pipeline import (
    Compaction,
    check_output,
    compact_pipeline,
    save_compact,
)
from ..pipelines.names import package_name
from ..readers.account import Account
from ..readers.annotated import dev_examples
from ..readers.corpora import corpus as read_corpus
from ..readers.corpora import endings_of, has_docs
from ..reporting.inspection import has_names, inspection_page, inspection_text
from ..reporting.reliability import draw_calibration
from ..reporting.report import as_markdown, as_page, examples_in, n_bytes, report
from .app import done, hoseq_cli, msg, then
from .shared import (
    AsJson,
    Code,
    Corpus,
    Folder,
    Force,
    Limit,
    Model,
    Page,
    check_free,
    docs_in,
    finish,
    pipeline_of,
    progress,
    write,
    write_page,
)

Row = tuple[str, str, str]


@hoseq_cli.command("report", failed="No report")
def report_cli(
    model: Model,
    data: Corpus,
    output: Folder,
    against: Annotated[
        str | None, Option("--against", "-a", help="Another pipeline to compare with")
    ] = None,
    train: Annotated[
        Path | None,
        Option("--train", help="Training corpus: which words are known", exists=True),
    ] = None,
    curve: Annotated[
        bool, Option("--curve", help="Train on shares of --train, for a learning curve")
    ] = False,
    force: Force = False,
    code: Code = None,
) -> None:
    """Write a report on a trained pipeline.

    \b
      hoseq report training/model-best test.spacy -o report
      hoseq report en test.spacy -o report --against en_core_web_sm --train train.spacy

    report.html, report.md and report.json have accuracy with intervals, labels, confusions,
    probabilities, the least certain sentences, likely annotation errors, and what another pipeline
    does otherwise.

    DOCS: docs/tasks/report.md
    """
    page = output / "report.html"
    check_free(page, force)
    if curve and train is None:
        raise not_found("training corpus", "the command, for a curve", "--train")
    nlp = pipeline_of(model, code)
    examples = examples_in(nlp, data)
    if not any(len(eg.reference) for eg in examples):
        raise not_found("annotated text", data, "a file of some")
    other = None
    if against is not None:
        other = (name_of(against), pipeline_of(against))
    known = None
    if train is not None:
        known = docs_in(train, nlp.vocab, Account())
    evaluation = report(
        nlp,
        examples,
        model=name_of(model),
        data=data.name,
        against=other,
        train=known,
        curve=curve,
        tell=msg.info,
    )
    write(page, as_page(evaluation))
    write(output / "report.md", as_markdown(evaluation))
    srsly.write_json(output / "report.json", evaluation)
    # components whose labels the corpus does not have
    missing = set(own_components(nlp))
    for layer in evaluation["layers"]:
        missing.discard(layer["component"])
        scores = [f"{name} {100 * share['value']:.2f}" for name, share in layer["scores"].items()]
        msg.text(f"{layer['component']}: {', '.join(scores)}")
    if missing:
        msg.warn(f"Left out, for {data} has no gold labels of: {', '.join(sorted(missing))}")
    done(f"{page}, report.md, report.json", f"look at {page}")


def name_of(model: str) -> str:
    """The name of a pipeline in a report. A folder that training has written is called model-best or
    model-last, so the folder above it is part of the name."""
    path = Path(model)
    if path.is_dir() and path.name.startswith("model-"):
        return f"{path.resolve().parent.name}/{path.name}"
    return path.name


@hoseq_cli.command("inspect", failed="Nothing inspected")
def inspect_cli(
    model: Model,
    corpus: Annotated[
        Path | None,
        Argument(help="Texts (.spacy) that give names, counts, examples", exists=True),
    ] = None,
    n: Annotated[
        int,
        Option("--number", "-n", min=1, help="Features of each label, at both ends"),
    ] = 3,
    limit: Limit = 1000,
    output: Page = None,
    as_json: AsJson = False,
    keep_names: Annotated[
        bool, Option("--keep-names", help="Keep the names of features beside the model")
    ] = False,
    force: Force = False,
    code: Code = None,
) -> None:
    """Show what a trained pipeline has learnt.

    \b
      hoseq inspect en dev.spacy
      hoseq inspect training/model-best dev.spacy -o inside.html

    Labels with their strongest features, transitions, label patterns, sizes. Features are hashes in
    a model; a corpus in which they fire gives them names.

    DOCS: docs/tasks/why.md
    """
    check_free(output, force)
    nlp = pipeline_of(model, code)
    examples = [] if corpus is None else read_corpus(corpus, limit=limit)(nlp)
    docs = list(progress(nlp.pipe(eg.predicted for eg in examples)))
    # written by --keep-names at an earlier time
    beside = folder_of(model) / NAMES_FILE
    names: Table = {}
    if beside.is_file():
        names = srsly.read_json(beside)
    components = inspected(nlp, docs, top=n, names=names)
    if keep_names:
        for name, new in names_in(components).items():
            names[name] = {**names.get(name, {}), **new}
        srsly.write_json(beside, names)
    if output:
        write_page(output, inspection_page(components, title=f"Inside {model}"))
    elif as_json:
        print(json.dumps(components, ensure_ascii=False))
    else:
        print("\n".join(map(inspection_text, components)))
        if not all(map(has_names, components)):
            then("features in hexadecimals have no name here: give a corpus in which they fire")


@hoseq_cli.command("calibrate", failed="Nothing written")
def calibrate_cli(
    model: Model,
    dev: Annotated[
        Path, Argument(help="Corpus (.spacy) of other text than in training", exists=True)
    ],
    output: Folder,
    component: Annotated[
        list[str] | None,
        Option("--component", help="Default: all that no other listens to"),
    ] = None,
    picture: Annotated[
        Path | None, Option("--picture", help="Folder for a picture of each")
    ] = None,
    limit: Limit = 0,
    force: Force = False,
    code: Code = None,
) -> None:
    """Make the probabilities of a pipeline fit a corpus.

    \b
      hoseq calibrate training/model-best dev.spacy -o calibrated

    All weights of each tagger and chunker are divided by one temperature. Labels and the order of
    alternatives stay. Figures "after" are of temperatures found without the text that they are
    measured on.

    DOCS: docs/tasks/probabilities.md
    """
    check_output(output, overwrite=force)
    nlp = pipeline_of(model, code)
    # whether pictures can be written is checked before hours of work
    pictures: dict[str, Path] = {}
    if picture:
        for name in nlp.pipe_names:
            pictures[name] = picture / f"{name}.svg"
            check_free(pictures[name], force)
    examples = dev_examples(nlp, dev)[: limit or None]
    calibrations = calibrate(nlp, examples, component or None, partial(progress, what="components"))
    # strings stay, because what else is in the pipeline may need them
    save_compact(nlp, output, overwrite=force, keep_strings=True)
    rows: list[Row] = []
    for name, one in calibrations.items():
        if picture:
            title = f"Probabilities of {name}: {model} on {dev.name}"
            write(pictures[name], draw_calibration(one.before, one.after, title=title))
        rows += calibration_rows(name, one)
    msg.table(rows, header=("", "before", "after"), divider=True, aligns=("l", "r", "r"))
    done(f"Written to {output}", f"python -m spacy hoseq report {output} TEST.spacy -o report")


def calibration_rows(name: str, one: Calibration) -> list[Row]:
    """The temperature of a component, its measures before and after, and the labels that changed."""
    measures = {
        "ece": "expected calibration error",
        "ece_equal_mass": "the same, bins of equal mass",
        "brier": "Brier score",
        "log_loss": "log loss, nats",
        "area": "area under risk-coverage",
    }
    rows = [(f"{name}: temperature", "1", f"{one.temperature:.4g}")]
    for field, title in measures.items():
        before = getattr(one.before, field)
        after = getattr(one.after, field)
        rows.append((title, f"{before:.4f}", f"{after:.4f}"))
    rows.append((f"labels that changed, of {one.after.n:,}", "", f"{one.n_changed:,}"))
    return rows


@hoseq_cli.command("compact", failed="Nothing written")
def compact_cli(
    model: Model,
    dev: Annotated[
        Path, Argument(help="Development corpus (.spacy), read as in training", exists=True)
    ],
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Folder to write. Default: MODEL, if it is a folder"),
    ] = None,
    tolerance: Annotated[
        float, Option("--tolerance", help="How much each metric may fall (0.0005 of 1)")
    ] = 0.0005,
    metric: Annotated[
        list[str] | None, Option("--metric", help="Default: those of training")
    ] = None,
    keep_strings: Annotated[
        bool,
        Option("--keep-strings", "-S", help="Keep all strings of the vocabulary"),
    ] = False,
    force: Force = False,
    code: Code = None,
) -> None:
    """Make a trained pipeline smaller.

    \b
      hoseq compact training/model-best dev.spacy -o small
      hoseq compact training/model-best dev.spacy -o small --tolerance 0.002 --metric tag_acc

    Of each component of this package only the features and weights stay that the metrics on a
    development corpus need.

    DOCS: docs/reference/command-line.md
    """
    if output is None:
        # an installed package, or one of this package, is not the user's to change
        if not Path(model).is_dir():
            raise not_found("folder", "the command", "--output, for MODEL is no folder")
        output = Path(model)
    check_output(output, overwrite=force)
    nlp = pipeline_of(model, code)
    before = n_bytes(folder_of(model))
    account = Account()
    examples = examples_in_account(nlp, dev, account)
    msg.info("Pruning: the pipeline is evaluated some 50 times for each component")
    # how many evaluations bisection takes is not known in advance
    with tqdm(unit=" evaluations", leave=False, disable=None) as bar:
        result = compact_pipeline(nlp, examples, tolerance, metric or None, progress=bar.update)
    save_compact(nlp, output, overwrite=force, keep_strings=keep_strings)
    account.wrote(output)
    rows = compaction_rows(result, before, n_bytes(output))
    msg.table(rows, header=("", "before", "after"), divider=True, aligns=("l", "r", "r"))
    step = f"python -m spacy evaluate {output} TEST.spacy"
    finish(account, {"Docs": len(examples)}, f"Written to {output}", step)


def examples_in_account(nlp: Language, dev: Path, account: Account) -> list[Example]:
    """Examples of a development corpus, whose reader refuses whatever cannot be read."""
    examples = dev_examples(nlp, dev)
    endings = [".spacy"] if has_docs(dev) else endings_of("auto")
    for file in account.find(dev, endings):
        list(account.read(file, []))
    return examples


def compaction_rows(result: Compaction, before: int, after: int) -> list[Row]:
    """Metrics, features and weights of components, megabytes of the folder. before, after: its bytes."""
    rows: list[Row] = []
    for name, score in result.before.items():
        rows.append((name, f"{score:.4f}", f"{result.after[name]:.4f}"))
    for change in result.changes:
        for kind in ("features", "weights"):
            n_before = getattr(change.before, kind)
            n_after = getattr(change.after, kind)
            rows.append((f"{change.name}: {kind}", f"{n_before:,}", f"{n_after:,}"))
    rows.append(("MB", f"{before / 1e6:.3f}", f"{after / 1e6:.3f}"))
    return rows


@hoseq_cli.command("package", failed="No package made")
def package_cli(
    model: Model,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Folder to write to", file_okay=False),
    ] = None,
    install: Annotated[
        bool,
        Option("--install", help="Install it with pip; no network, no --output needed"),
    ] = False,
    build: Annotated[
        str | None,
        Option(
            "--build",
            "-b",
            help="wheel, sdist, wheel,sdist or none. Default: wheel, with --install none",
        ),
    ] = None,
    force: Force = False,
    code: Code = None,
) -> None:
    """Make a package of a pipeline, and install it.

    \b
      hoseq package en --install                                  for `spacy.load("en_hoseq_sm")`
      hoseq package training/model-best -o packages               a wheel

    `spacy package` makes it; `pip` knows its version.

    DOCS: docs/reference/command-line.md
    """
    if output is None and not install:
        raise not_found("folder", "the command", "--output or --install")
    meta = pipeline_of(model, code).meta
    name = package_name(meta)
    if build is None:
        build = "none" if install else "wheel"
    sdist, wheel = get_build_formats(string_to_list(build))
    with TemporaryDirectory() as temporary:
        # where spaCy will write it, which removes what is there with --force
        folder = (output or Path(temporary)) / f"{name}-{meta['version']}"
        check_free(folder, force)
        folder.parent.mkdir(parents=True, exist_ok=True)
        package(
            folder_of(model),
            folder.parent,
            code_paths=[code] if code else [],
            create_sdist=sdist,
            create_wheel=wheel,
            force=force,
            silent=False,
        )
        if install:
            # no network: what the pipeline requires is installed, else it could not be loaded
            alone = ["--no-index", "--no-deps", "--no-build-isolation", "--force-reinstall"]
            run_command([sys.executable, "-m", "pip", "install", *alone, str(folder)])
            done(f"{name} is installed", f'spacy.load("{name}")')
        else:
            # a wheel, an archive, or the folder itself
            built = sorted((folder / "dist").glob("*"), reverse=True)
            done(folder, f"pip install {[*built, folder][0]}")
