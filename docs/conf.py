"""The site: `python -m sphinx -W --keep-going docs site` (extra `docs`). Warnings are errors.

Pages are Markdown that also reads well where it lies. What only the site needs is made here: the tree of its contents,
and the pages of the Python API (api_pages.py), which are generated from docstrings into docs/reference/api. The site
loads nothing from the network.
"""

import re
import sys
from pathlib import Path

from sphinx import addnodes
from sphinx.errors import ExtensionError

sys.path.insert(0, str(Path(__file__).parent))

import api_pages  # noqa: E402
import tables  # noqa: E402

CONTENTS = {
    "Tutorial": ["tutorial", "pipelines", "coming-from", "licences"],
    "I want to ...": [
        "tasks/index",
        "tasks/convert",
        "tasks/train",
        "tasks/treebank",
        "tasks/distil",
        "tasks/adapt",
        "tasks/my-model",
        "tasks/names",
        "tasks/morphology",
        "tasks/chinese",
        "tasks/probabilities",
        "tasks/why",
        "tasks/report",
        "tasks/annotation",
        "tasks/annotate",
        "tasks/pipelines",
        "tasks/words",
        "tasks/extend",
    ],
    "Reference": [
        "reference/index",
        "reference/tagger",
        "reference/morphologizer",
        "reference/lemmatizer",
        "reference/chunker",
        "reference/bidirectional",
        "reference/components",
        "reference/layers",
        "reference/learning",
        "reference/patterns",
        "reference/configs",
        "reference/names",
        "reference/templates",
        "reference/readers",
        "reference/command-line",
        "reference/files",
        "reference/errors",
        "reference/api/index",
    ],
    "Measurements": [
        "measurements/index",
        "measurements/performance",
        "measurements/recipes",
        "measurements/languages",
        "measurements/english",
        "measurements/names",
        "measurements/chinese",
    ],
    "The papers": [
        "papers",
        "papers/easiest-first",
        "papers/nonnegative",
        "papers/sparse-crf",
        "papers/multilayer",
    ],
    "How it works inside": ["architecture", "algorithms", "patterns-way"],
}

LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"'](?:https?:)?//[^>]*>"
    r"|<link\b(?=[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*href=[\"'](?:https?:)?//[^>]*>"
    r"|@import[^;]*//[^;]*;|url\([\"']?(?:https?:)?//[^)]*\)"
)

project = "spacy_hoseq"
copyright = "the spacy_hoseq developers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "spacy_hoseq"
html_show_copyright = False
html_copy_source = False
smartquotes = False  # an option is "--dev"
exclude_patterns = []
myst_heading_anchors = 4  # links as on GitHub: page.md#title-in-lower-case
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": False}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # names of constants, not their values
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 100
toc_object_entries = False
python_display_short_literal_types = True
suppress_warnings = ["misc.highlighting_failure"]  # "..." in JSON and in output


def add_contents(app, docname, source):
    """Put the tree of contents under the first page."""
    if docname == "index":
        for title, pages in CONTENTS.items():
            listed = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n"


def add_tables(app, docname, source):
    """Put the tables that are made from the code into a page."""
    source[0] = tables.filled(source[0])


def unlink_types(app, doctree):
    """Types in signatures are names, not links: to look for each of thousands takes as long as all the rest."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("refdomain") == "py":
            node.replace_self(node.children)


def refuse_network(app, exception):
    """What a browser loads by itself must be part of the site. RAISES ExtensionError."""
    if exception is None and app.builder.format == "html":
        for path in sorted([*Path(app.outdir).rglob("*.html"), *Path(app.outdir).rglob("*.css")]):
            loaded = LOADED.search(path.read_text(encoding="utf8"))
            if loaded:
                raise ExtensionError(f"{path} loads from the network: {loaded[0]}")


def setup(app):
    api_pages.write(Path(app.srcdir) / "reference" / "api")
    for page in Path(app.srcdir).rglob("*.md"):  # now: autodoc changes signatures while it reads
        tables.filled(page.read_text(encoding="utf8"))
    app.connect("source-read", add_contents)
    app.connect("source-read", add_tables)
    app.connect("doctree-read", unlink_types)
    app.connect("build-finished", refuse_network)
    app.connect("autodoc-process-docstring", api_pages.process_docstring)
