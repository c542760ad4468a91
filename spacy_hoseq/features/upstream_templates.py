"""Templates that look at the labels of an earlier component, which are known as probabilities.

They are written like all others, with the attribute `upstream`: "upstream[0]", "upstream[-1]+upstream[0]",
"upstream[0]+lower[0]". Part of them can be about words. Each label (or string of labels) that is probable there makes a
feature, and its probability is the feature's value.
"""

from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from spacy.strings import get_string_id

from ..errors import Errors
from .label_templates import LabelTemplate
from .templates import Template

UPSTREAM = "upstream"


class UpstreamTemplates(NamedTuple):
    """words: word parts of the templates. labels: the templates; offsets rising."""

    words: List[Template]
    labels: List[LabelTemplate]

    @property
    def margin(self) -> int:
        """How far they look."""
        return max(abs(offset) for template in self.labels for offset in template.offsets)

    @property
    def places(self) -> List[Tuple[int, ...]]:
        """The distinct places of labels."""
        return list(dict.fromkeys(template.offsets for template in self.labels))


def split_upstream(templates: Sequence[Template]) -> UpstreamTemplates:
    """RAISES ValueError [HS019]: a template without a label of the earlier component, or with one place twice."""
    labels = []
    words: Dict[Template, int] = {}
    for template in templates:
        offsets = tuple(sorted(part.offset for part in template.parts if part.attribute == UPSTREAM))
        if not offsets or len(set(offsets)) < len(offsets):
            raise ValueError(Errors.HS019.format(template=template))
        rest = Template(tuple(part for part in template.parts if part.attribute != UPSTREAM))
        word = words.setdefault(rest, len(words)) if rest.parts else -1
        labels.append(LabelTemplate(np.uint64(get_string_id(str(template))), word, offsets))
    return UpstreamTemplates(list(words), labels)
