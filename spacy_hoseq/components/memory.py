"""spaCy's memory zones."""

from contextlib import contextmanager
from typing import Any, Iterator

from thinc.api import Model


@contextmanager
def forgetting_words(model: Model[Any, Any], mem: Any) -> Iterator[Any]:
    """At the end of a zone, every layer forgets what it remembered of words."""
    try:
        yield mem
    finally:
        for node in model.walk():
            if "forget_words" in node.attrs:
                node.attrs["forget_words"](node)
