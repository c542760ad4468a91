"""CoNLL-U, the format of Universal Dependencies."""

from functools import partial
from typing import List

from spacy.tokens import Doc

from ..output import LinesFile, OutputFormat, sentences_of


def conllu_lines(name: str, doc: Doc) -> List[str]:
    """CoNLL-U; white space is no token of it."""
    lines: List[str] = []
    for number, sentence in enumerate(sentences_of(doc)):
        lines += [] if number else [f"# newdoc id = {' '.join(name.split())}"]
        text = doc.text[sentence[0].idx : sentence[-1].idx + len(sentence[-1])]
        lines.append(f"# text = {' '.join(text.split())}")
        places = {token.i: place for place, token in enumerate(sentence, 1)}
        for token in sentence:
            head = (
                "_"
                if not token.dep
                else str(0 if token.head.i == token.i else places.get(token.head.i, 0))
            )
            cells = (token.lemma_, token.pos_, token.tag_, str(token.morph))
            rest = (head, token.dep_ or "_", "_", "_" if token.whitespace_ else "SpaceAfter=No")
            lines.append(
                "\t".join(
                    (str(places[token.i]), token.text, *(cell or "_" for cell in cells), *rest)
                )
            )
        lines.append("")
    return lines


FORMAT = OutputFormat(docs=partial(LinesFile, conllu_lines))
