"""Columns as in CoNLL-2000 and CoNLL-2003: word, tag and chunk."""

from functools import partial
from typing import List

from spacy.tokens import Doc

from ..output import LinesFile, OutputFormat, sentences_of


def conll_lines(name: str, doc: Doc) -> List[str]:
    """Word, tag and chunk (or entity) in each line, a blank line behind each sentence, as
    CoNLL-2000 and 2003 are."""
    lines = ["-DOCSTART- -X- O", ""]
    spans = next((group for _, group in sorted(doc.spans.items())), doc.ents)
    marks = ["O"] * len(doc)
    for span in spans:
        words = [token.i for token in span if not token.is_space]
        for i in words:
            marks[i] = f"{'B' if i == words[0] else 'I'}-{span.label_}"
    for sentence in sentences_of(doc):
        lines += [f"{token.text} {token.tag_ or '_'} {marks[token.i]}" for token in sentence]
        lines.append("")
    return lines


FORMAT = OutputFormat(docs=partial(LinesFile, conll_lines))
