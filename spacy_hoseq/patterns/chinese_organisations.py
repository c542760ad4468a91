"""Words of Chinese organisation names, for `chunk_words.py`: what names end with, begin with and
stand beside."""

import json
from pathlib import Path
from typing import Any, Dict, List

FILE = Path(__file__).with_name("chinese_organisation_rules.json")


def chinese_organisation_rules() -> List[Dict[str, Any]]:
    """Classes of words. Each has a name, where its words stand (a chunk "begins" or "ends" with
    them, or has them "before" or "after" it), the words, and some an "example" (made up) or a
    "note"."""
    return json.loads(FILE.read_text(encoding="utf8"))
