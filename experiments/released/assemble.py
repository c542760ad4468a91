"""Put trained components together into a pipeline for raw text.

    python assemble.py SOURCES.json OUTPUT COMPONENT=MODEL ... [--lang en]

SOURCES.json: description and sources, as they stand in meta.json. Only strings that labels need are kept, so that the
same models give the same bytes.
"""

import shutil
from pathlib import Path
from typing import List

import spacy
import srsly
import typer

from spacy_hoseq.compaction.pipeline import save_compact
from spacy_hoseq.features.word_classes import TABLE


def main(
    sources: Path,
    output: Path,
    components: List[str] = typer.Argument(..., help="COMPONENT=MODEL, in the order of the pipeline"),
    lang: str = typer.Option("en", help="Language"),
) -> None:
    nlp = spacy.blank(lang)
    for component in components:
        name, _, model = component.partition("=")
        source = spacy.load(model)
        if source.vocab.lookups.has_table(TABLE):
            nlp.vocab.lookups.set_table(TABLE, source.vocab.lookups.get_table(TABLE))
        nlp.add_pipe(name, source=source)
    about = srsly.read_json(sources)
    nlp.meta.update(about["meta"])
    nlp.batch_size = 1000
    shutil.rmtree(output, ignore_errors=True)
    save_compact(nlp, output)
    meta = srsly.read_json(output / "meta.json")
    srsly.write_json(output / "meta.json", {**meta, **about["meta"]})
    print(f"{output}: {sum(file.stat().st_size for file in output.rglob('*') if file.is_file()):,} bytes")


if __name__ == "__main__":
    typer.run(main)
