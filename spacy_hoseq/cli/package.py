"""`python -m spacy hoseq package`: a pipeline as a package of its own, for `spacy.load`."""

from pathlib import Path

import typer
from spacy.cli.package import has_build, package
from wasabi import msg

from ..errors import Errors
from ..pipelines import embedded_path, load_from
from .app import hoseq_cli, then
from .files import check_free, check_name


@hoseq_cli.command("package", failed="No package made")
def package_cli(
    # fmt: off
    model: str = typer.Argument(..., help="Directory of a trained pipeline, or en, zh, af, cy"),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write to", file_okay=False),
    build: str = typer.Option(
        "wheel", "--build", "-b", help="wheel, sdist or both, separated by a comma; or none"
    ),
    force: bool = typer.Option(
        False, "--force", "-F", help="Replace what an earlier run has written"
    ),
    # fmt: on
) -> None:
    """Make a package of a pipeline: `spacy.load("en_hoseq_sm")` finds it when it is installed, and
    `pip` knows its version. The same as `spacy package`, which takes no "en".

    DOCS: docs/reference/command-line.md
    """
    path = Path(model) if Path(model, "meta.json").is_file() else embedded_path(model)
    kinds = [kind.strip() for kind in build.split(",")]
    if not {*kinds} <= {"wheel", "sdist", "none"}:
        raise ValueError(Errors.HS161.format(name=build, known="wheel, sdist, none"))
    meta = load_from(path).meta
    check_name(meta["name"])
    folder = output / f"{meta['lang']}_{meta['name']}-{meta['version']}"
    check_free(folder, force)
    if kinds != ["none"] and not has_build():
        raise ValueError(Errors.HS170.format(package="build", install="build"))
    output.mkdir(parents=True, exist_ok=True)
    msg.info(f"Building {build}")
    package(
        path,
        output,
        create_wheel="wheel" in kinds,
        create_sdist="sdist" in kinds,
        force=force,
        silent=True,
    )
    made = sorted((folder / "dist").glob("*"), reverse=True)
    for file in made:
        msg.good(str(file))
    then(f"pip install {made[0] if made else folder}")
