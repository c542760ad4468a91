"""Rules for tagging Chinese parts of speech, as higher-order patterns (Qian & Liu, "Chinese POS
Tagging").

They are in chinese_pos_rules_ctb.json (tags of the Chinese Treebank) and chinese_pos_rules_ud.json
(XPOS of UD Chinese GSD): the three families of the paper's Figure 9, and families found by looking
at errors in training data. Each rule has a note, an example (made up), and "count": in how many
matches in training data the gold tags agree with it, of how many (zh_ctb_sdp and zh_ud_gsd;
docs/tasks/chinese.md). To extend them, copy a file, and read it with srsly.read_json.v1.
"""

import json
from pathlib import Path
from typing import Any, Dict, List, Literal, get_args

from ..errors import Errors

FOLDER = Path(__file__).parent
TagSet = Literal["ctb", "ud"]


def chinese_pos_rules(tag_set: TagSet = "ctb") -> List[Dict[str, Any]]:
    """For `spacy_hoseq.rule_patterns.v1`. Rules that name a tag which the component does not have
    are left out.

    RAISES ValueError [HS034]: there is no such tag set.
    """
    if tag_set not in get_args(TagSet):
        problem = f'there is no tag set "{tag_set}"; known are {", ".join(get_args(TagSet))}'
        raise ValueError(Errors.HS034.format(rule="chinese_pos_rules", problem=problem))
    text = (FOLDER / f"chinese_pos_rules_{tag_set}.json").read_text(encoding="utf8")
    return [{**rule, "optional": True} for rule in json.loads(text)]
