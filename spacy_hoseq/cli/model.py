"""Commands for a trained pipeline: `report` says how good it is, `inspect` what it has learnt;
`calibrate` and `compact` write a better and a smaller one, `package` one to install."""

import json
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import srsly
import typer
from spacy.cli._util import string_to_list
from spacy.cli.package import get_build_formats, package
from spacy.util import run_command
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..inspection.calibration import Calibration, calibrate
from ..inspection.reading import own_components
from ..inspection.weights import NAMES, Table, inspected, names_in
from ..pipelines import folder_of
from ..pipelines.compaction.pipeline import (
    Compaction,
    check_output,
    compact_pipeline,
    save_compact,
)
from ..pipelines.names import package_name
from ..readers.annotated import dev_examples, read_docs, spacy_files
from ..readers.corpora import corpus as read_corpus
from ..reporting.inspection import inspection_page, inspection_text
from ..reporting.reliability import draw_calibration
from ..reporting.report import as_markdown, as_page, examples_in, report
from .app import done, hoseq_cli, then
from .shared import (
    CODE,
    FOLDER,
    FORCE,
    Model,
    check_free,
    pipeline_of,
    progress,
    write,
    write_page,
)

Row = tuple[str, str, str]
# of pip: what a pipeline requires is installed, or else nothing could have loaded it
ALONE = ("--no-index", "--no-deps", "--no-build-isolation", "--force-reinstall")
FIGURES = {
    "ece": "expected calibration error",
    "ece_equal_mass": "the same, bins of equal mass",
    "brier": "Brier score",
    "log_loss": "log loss, nats",
    "area": "area under risk-coverage",
}


@hoseq_cli.command(
    "report",
    failed="No report",
)
def report_cli(
    # fmt: off
    model: Model,
    data: Path = typer.Argument(..., help="Annotated .spacy file, or folder of them", exists=True),
    output: Path = FOLDER,
    against: str | None = typer.Option(
        None, "--against", "-a", help="Another pipeline to compare with"
    ),
    train: Path | None = typer.Option(
        None, "--train", help="Training corpus: which words are known", exists=True
    ),
    curve: bool = typer.Option(
        False, "--curve", help="Train on shares of --train, for a learning curve"
    ),
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Write report.html, report.md and report.json: accuracy with intervals, labels, confusions,
    probabilities, the least certain sentences, likely annotation errors, and what another pipeline
    does otherwise.

    DOCS: docs/tasks/report.md
    """
    page = output / "report.html"
    check_free(page, force)
    if curve and train is None:
        raise ValueError(
            Errors.HS159.format(
                what="training corpus", source="the command, for a curve", expected="--train"
            )
        )
    nlp = pipeline_of(model, code)
    examples = examples_in(nlp, data)
    if not any(len(eg.reference) for eg in examples):
        raise ValueError(
            Errors.HS159.format(what="annotated text", source=data, expected="a file of some")
        )
    evaluation = report(
        nlp,
        examples,
        model=name_of(model),
        data=data.name,
        against=None if against is None else (name_of(against), pipeline_of(against)),
        train=None if train is None else list(read_docs(spacy_files(train), nlp.vocab)),
        curve=curve,
        tell=msg.info,
    )
    write(page, as_page(evaluation))
    write(output / "report.md", as_markdown(evaluation))
    srsly.write_json(output / "report.json", evaluation)
    for layer in evaluation["layers"]:
        scores = [f"{name} {100 * share['value']:.2f}" for name, share in layer["scores"].items()]
        msg.text(f"{layer['component']}: {', '.join(scores)}")
    missing = own_components(nlp).keys() - {layer["component"] for layer in evaluation["layers"]}
    if missing:
        msg.warn(f"Left out, for {data} has no gold labels of: {', '.join(sorted(missing))}")
    done(f"{page}, report.md, report.json", f"look at {page}")


def name_of(model: str) -> str:
    """Of a directory that training has written: with the directory above, which tells them
    apart."""
    path = Path(model)
    is_of_training = path.is_dir() and path.name.startswith("model-")
    return f"{path.resolve().parent.name}/{path.name}" if is_of_training else path.name


@hoseq_cli.command("inspect", failed="Nothing inspected")
def inspect_cli(
    # fmt: off
    model: Model,
    corpus: Path | None = typer.Argument(
        None, help="Texts (.spacy) that give names, counts, examples", exists=True
    ),
    n: int = typer.Option(3, "--number", "-n", min=1, help="Features of each label, at both ends"),
    limit: int = typer.Option(1000, "--limit", min=1, help="Use so many texts of the corpus"),
    output: Path | None = typer.Option(None, "--output", "-o", help="Write a page"),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON"),
    keep_names: bool = typer.Option(
        False, "--keep-names", help="Keep the names of features beside the model"
    ),
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Show what a pipeline has learnt: labels with their strongest features, transitions, label
    patterns, sizes. Features are hashes in a model; a corpus in which they fire gives them names.

    DOCS: docs/tasks/why.md
    """
    check_free(output, force)
    nlp = pipeline_of(model, code)
    examples = [] if corpus is None else read_corpus(corpus, limit=limit)(nlp)
    docs = list(progress(nlp.pipe(eg.predicted for eg in examples)))
    beside = folder_of(model) / NAMES
    names: Table = srsly.read_json(beside) if beside.is_file() else {}
    components = inspected(nlp, docs, top=n, names=names)
    if keep_names:
        names = {
            name: {**names.get(name, {}), **known} for name, known in names_in(components).items()
        }
        srsly.write_json(beside, names)
    if output:
        write_page(output, inspection_page(components, title=f"Inside {model}"))
    elif as_json:
        print(json.dumps(components, ensure_ascii=False))
    else:
        print("\n".join(map(inspection_text, components)))
        every = [rows for one in components for rows in one["strongest"].values()]
        if not all(feature["name"] for rows in every for feature in rows):
            then("features in hexadecimals have no name here: give a corpus in which they fire")


@hoseq_cli.command("calibrate", failed="Nothing written")
def calibrate_cli(
    # fmt: off
    model: Model,
    dev: Path = typer.Argument(
        ..., help="Corpus (.spacy) of other text than in training", exists=True
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Directory to write"),
    component: list[str] | None = typer.Option(
        None, "--component", help="Default: all that no other listens to"
    ),
    picture: Path | None = typer.Option(None, "--picture", help="Folder for a picture of each"),
    limit: int = typer.Option(
        0, "--limit", min=0, help="Use so many texts of the corpus only; 0 = all"
    ),
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Divide all weights of each tagger and chunker by one temperature, at which its probabilities
    fit the corpus. Labels and the order of alternatives stay. Figures "after" are of temperatures
    found without the text that they are measured on.

    DOCS: docs/tasks/probabilities.md
    """
    check_output(output, overwrite=force)
    nlp = pipeline_of(model, code)
    pictures = {name: picture / f"{name}.svg" for name in nlp.pipe_names} if picture else {}
    for path in pictures.values():
        check_free(path, force)
    examples = dev_examples(nlp, dev)[: limit or None]
    calibrations = calibrate(nlp, examples, component or None, partial(progress, what="components"))
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
    measures = [
        (title, f"{getattr(one.before, field):.4f}", f"{getattr(one.after, field):.4f}")
        for field, title in FIGURES.items()
    ]
    changed = (f"labels that changed, of {one.after.n:,}", "", f"{one.n_changed:,}")
    return [(f"{name}: temperature", "1", f"{one.temperature:.4g}"), *measures, changed]


@hoseq_cli.command("compact", failed="Nothing written")
def compact_cli(
    # fmt: off
    model: Model,
    dev: Path = typer.Argument(
        ..., help="Development corpus (.spacy), read as in training", exists=True
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder to write. Default: MODEL, if it is a folder"
    ),
    tolerance: float = typer.Option(
        0.0005, "--tolerance", help="How much each metric may fall (0.0005 of 1)"
    ),
    metric: list[str] | None = typer.Option(None, "--metric", help="Default: those of training"),
    keep_strings: bool = typer.Option(
        False, "--keep-strings", "-S", help="Keep all strings of the vocabulary"
    ),
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Make a trained pipeline smaller: of each component of the package only the features and
    weights stay that the metrics on a development corpus need.

    DOCS: docs/reference/command-line.md
    """
    if output is None:
        if not Path(model).is_dir():
            expected = "--output, for MODEL is no folder"
            raise ValueError(
                Errors.HS159.format(what="folder", source="the command", expected=expected)
            )
        output = Path(model)
    check_output(output, overwrite=force)
    nlp = pipeline_of(model, code)
    before = megabytes(folder_of(model))
    msg.info("Pruning: the pipeline is evaluated some 50 times for each component")
    with tqdm(unit=" evaluations", leave=False, disable=None) as bar:
        examples = dev_examples(nlp, dev)
        result = compact_pipeline(nlp, examples, tolerance, metric or None, progress=bar.update)
    save_compact(nlp, output, overwrite=force, keep_strings=keep_strings)
    rows = compaction_rows(result, before, megabytes(output))
    msg.table(rows, header=("", "before", "after"), divider=True, aligns=("l", "r", "r"))
    done(f"Written to {output}", f"python -m spacy evaluate {output} TEST.spacy")


def compaction_rows(result: Compaction, before: float, after: float) -> list[Row]:
    """Metrics, features and weights of components, megabytes of the directory."""
    metrics = [
        (name, f"{score:.4f}", f"{result.after[name]:.4f}") for name, score in result.before.items()
    ]
    counts = [
        (
            f"{change.name}: {kind}",
            f"{getattr(change.before, kind):,}",
            f"{getattr(change.after, kind):,}",
        )
        for change in result.changes
        for kind in ("features", "weights")
    ]
    return [*metrics, *counts, ("MB", f"{before:.3f}", f"{after:.3f}")]


def megabytes(folder: Path) -> float:
    """Of all files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


@hoseq_cli.command("package", failed="No package made")
def package_cli(
    # fmt: off
    model: Model,
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder to write to", file_okay=False
    ),
    install: bool = typer.Option(
        False, "--install", help="Install it with pip; no network, no --output needed"
    ),
    build: str | None = typer.Option(
        None,
        "--build",
        "-b",
        help="wheel, sdist, wheel,sdist or none. Default: wheel, with --install none",
    ),
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Make a package of a pipeline, with `spacy package`, and install it: then
    `spacy.load("en_hoseq_sm")` finds it, and `pip` knows its version.

    DOCS: docs/reference/command-line.md
    """
    if output is None and not install:
        raise ValueError(
            Errors.HS159.format(
                what="folder", source="the command", expected="--output or --install"
            )
        )
    meta = pipeline_of(model, code).meta
    name = package_name(meta)
    with TemporaryDirectory() as temporary:
        folder = (output or Path(temporary)) / f"{name}-{meta['version']}"
        check_free(folder, force)
        sdist, wheel = get_build_formats(string_to_list(build or ("none" if install else "wheel")))
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
            run_command([sys.executable, "-m", "pip", "install", *ALONE, str(folder)])
            done(f"{name} is installed", f'spacy.load("{name}")')
        else:
            made = sorted((folder / "dist").glob("*"), reverse=True)
            done(folder, f"pip install {[*made, folder][0]}")
