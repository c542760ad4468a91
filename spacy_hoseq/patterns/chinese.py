"""Rules for Chinese, as files.

chinese_pos_rules_ctb.json (tags of the Chinese Treebank) and chinese_pos_rules_ud.json (XPOS of UD
Chinese GSD) are for tagging parts of speech (Qian & Liu, "Chinese POS Tagging"): the three families
of the paper's Figure 9, and families found by looking at errors in training data. Each rule has a
note, an example (made up), and "count": in how many matches in training data the gold tags agree
with it, of how many (zh_ctb_sdp and zh_ud_gsd; docs/tasks/chinese.md). To extend them, copy a file,
and read it with srsly.read_json.v1.

chinese_organisation_rules.json has words of names of organisations, for `chunk_words.py`: what names
end with, begin with and stand beside.
"""

from pathlib import Path
from typing import Any, Literal

import srsly


def chinese_pos_rules(tag_set: Literal["ctb", "ud"] = "ctb") -> list[dict[str, Any]]:
    """Rules for `spacy_hoseq.rule_patterns.v1`. A rule is left out if it names a tag that the
    component does not have."""
    path = Path(__file__).with_name(f"chinese_pos_rules_{tag_set}.json")
    return [{**rule, "optional": True} for rule in srsly.read_json(path)]


def chinese_organisation_rules() -> list[dict[str, Any]]:
    """Classes of words for `spacy_hoseq.chunk_words.v1`.

    Each class has a name, where its words stand (a chunk "begins" or "ends" with them, or has them
    "before" or "after" it), the words, and some have an "example" (made up) or a "note".
    """
    return [*srsly.read_json(Path(__file__).with_name("chinese_organisation_rules.json"))]
