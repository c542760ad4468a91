"""Plain text: a text in each line that is not blank, or in each file. Any file of another ending is
read like this."""

from ...readers.files import whole_text
from ...readers.sentences import Problem
from ..source import InputFormat, InputOptions, Items, Row, Source


def read_text(source: Source, reading: InputOptions) -> Items:
    """One text if `reading.whole`, else one for each line."""
    if reading.whole:
        text = whole_text(source.lines())
        yield text if isinstance(text, Problem) else Row(source.path.as_posix(), text, False)
        return
    for line in source.lines():
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            yield source.row(line.number, line.text, None)


FORMAT = InputFormat([".txt"], read_text)
