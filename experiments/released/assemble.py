"""Put trained components together into a pipeline for raw text.

    python assemble.py SOURCES.json OUTPUT COMPONENT=MODEL ... [--lang en] [--calibrate COMPONENT=DEV.spacy[,DEV.spacy]]
        [--threshold COMPONENT=DEV.spacy[,DEV.spacy]]

SOURCES.json: description and sources, as they stand in meta.json. Only strings that labels need are kept, so that the
same models give the same bytes. The tokenizer keeps whole what spaCy's rules take apart: emoji of several characters
(with a tone of skin, joined to others, flags), hashtags, and tags and characters of HTML.
"""

import shutil
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from calibrate import calibrated, fit_thresholds
from spacy.lang.char_classes import CONCAT_ICONS
from spacy.language import Language
from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

from spacy_hoseq.features.attributes import SOURCES_TABLE
from spacy_hoseq.pipelines.compaction.pipeline import save_compact

ICON = f"[{CONCAT_ICONS}]"
FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
WHOLE = f"(?:{FLAG}|{ICON}(?:[\U0001f3fb-\U0001f3ff\ufe0f]|\u200d{ICON})*)"  # tones of skin, variants, joined emoji
MARKUP = "</?[A-Za-z][A-Za-z0-9]*/?>"
CHARACTER = "&(?:#[0-9]+|[a-z]{2,8});"
APART = {ICON: WHOLE, "#": r"#(?![^\W\d])"}  # spaCy's rule: ours


def main(
    sources: Path,
    output: Path,
    components: list[str] = typer.Argument(
        ..., help="COMPONENT=MODEL, in the order of the pipeline"
    ),
    lang: str = typer.Option("en", help="Language"),
    calibrate: list[str] = typer.Option(
        [], help="COMPONENT=DEV.spacy[,DEV.spacy]: every second Doc is used"
    ),
    threshold: list[str] = typer.Option(
        [], help="the same: the span threshold is the one that is best there"
    ),
) -> None:
    nlp = spacy.blank(lang)
    keep_whole(nlp)
    for component in components:
        name, _, model = component.partition("=")
        source = spacy.load(model)
        for table in source.vocab.lookups.tables:
            if table != SOURCES_TABLE:  # SOURCES.json has them
                nlp.vocab.lookups.set_table(table, source.vocab.lookups.get_table(table))
        nlp.add_pipe(source_name(source, name), source=source, name=name)
    calibrated(nlp, calibrate)
    fit_thresholds(nlp, threshold)
    about = srsly.read_json(sources)
    nlp.meta.update(about["meta"])
    nlp.batch_size = 1000
    shutil.rmtree(output, ignore_errors=True)
    save_compact(nlp, output)
    meta = srsly.read_json(output / "meta.json")
    srsly.write_json(output / "meta.json", {**meta, **about["meta"]}, indent=0)
    print(
        f"{output}: {sum(file.stat().st_size for file in output.rglob('*') if file.is_file()):,} bytes"
    )


def keep_whole(nlp: Language) -> None:
    prefixes, suffixes, infixes = (
        [MARKUP, CHARACTER, *(APART.get(rule, rule) for rule in rules or ())]
        for rules in (nlp.Defaults.prefixes, nlp.Defaults.suffixes, nlp.Defaults.infixes)
    )
    tokenizer: Any = nlp.tokenizer
    tokenizer.prefix_search = compile_prefix_regex(prefixes).search
    tokenizer.suffix_search = compile_suffix_regex(suffixes).search
    tokenizer.infix_finditer = compile_infix_regex(infixes).finditer


def source_name(source: Language, name: str) -> str:
    """What the component is called where it was trained: the only one there, if it has another name."""
    return name if name in source.pipe_names else source.pipe_names[-1]


if __name__ == "__main__":
    typer.run(main)
