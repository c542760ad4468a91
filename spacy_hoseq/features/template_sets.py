"""Ready-made sets of templates, by name: template_sets.json has what each is for, and its templates."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List

from ..errors import Errors

FILE = Path(__file__).with_name("template_sets.json")


def templates(name: str, classes: int = 0) -> List[str]:
    """Registered as `spacy_hoseq.templates.v1`: the templates of a ready-made set.

    name (str): of the set; of several, joined by "+". classes (int): columns of the table of word
        classes that are read, too; the last one, such as the tags of a lexicon, also in pairs.
    RAISES ValueError [HS161]: there is no such set.
    """
    sets = template_sets()
    result: List[str] = []
    for part in name.split("+"):
        if part not in sets:
            raise ValueError(Errors.HS161.format(name=part, known=", ".join(sets)))
        result += sets[part]["templates"]
    if classes:
        last = f"word_class{classes}"
        result.append(f"word_class1..{classes}[-1..1]")
        result += [f"{last}[-1]+{last}[0]", f"{last}[0]+{last}[1]"]
    return result


@lru_cache(maxsize=1)
def template_sets() -> Dict[str, Dict[str, Any]]:
    """Name -> "about", "templates"."""
    sets: Dict[str, Dict[str, Any]] = json.loads(FILE.read_text(encoding="utf8"))
    return sets
