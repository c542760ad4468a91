"""Put trained components together into a pipeline for raw text.

    python assemble.py SOURCES.json OUTPUT COMPONENT=MODEL ... [--lang en] [--calibrate COMPONENT=DEV.spacy[,DEV.spacy]]

SOURCES.json: description and sources, as they stand in meta.json. Only strings that labels need are kept, so that the
same models give the same bytes.
"""

import shutil
from pathlib import Path
from typing import List

import spacy
import srsly
import typer
from calibrate import calibrated
from spacy.language import Language

from spacy_hoseq.compaction.pipeline import save_compact


def main(
    sources: Path,
    output: Path,
    components: List[str] = typer.Argument(..., help="COMPONENT=MODEL, in the order of the pipeline"),
    lang: str = typer.Option("en", help="Language"),
    calibrate: List[str] = typer.Option([], help="COMPONENT=DEV.spacy[,DEV.spacy]: every second Doc is used"),
) -> None:
    nlp = spacy.blank(lang)
    for component in components:
        name, _, model = component.partition("=")
        source = spacy.load(model)
        for table in source.vocab.lookups.tables:
            nlp.vocab.lookups.set_table(table, source.vocab.lookups.get_table(table))
        nlp.add_pipe(source_name(source, name), source=source, name=name)
    calibrated(nlp, calibrate)
    about = srsly.read_json(sources)
    nlp.meta.update(about["meta"])
    nlp.batch_size = 1000
    shutil.rmtree(output, ignore_errors=True)
    save_compact(nlp, output)
    meta = srsly.read_json(output / "meta.json")
    srsly.write_json(output / "meta.json", {**meta, **about["meta"]})
    print(f"{output}: {sum(file.stat().st_size for file in output.rglob('*') if file.is_file()):,} bytes")


def source_name(source: Language, name: str) -> str:
    """What the component is called where it was trained: the only one there, if it has another name."""
    return name if name in source.pipe_names else source.pipe_names[-1]


if __name__ == "__main__":
    typer.run(main)
