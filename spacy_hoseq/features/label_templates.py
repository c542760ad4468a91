"""Templates that look at the labels of neighbours: "label[-1]", "label[-1]+label[1]",
"label[-1]+orth[0]".

They are written like all others, with the attribute `label`. Part of them can be about words; that
part is a template of its own, whose keys are computed with those of the other word templates. The
labels are folded in afterwards, since they become known only while decoding.
"""

from functools import lru_cache
from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from spacy.strings import get_string_id

from ..errors import Errors
from .keys import ABSENT, AFTER, BEFORE, Keys, mix
from .templates import Template

LABEL = "label"


class LabelTemplate(NamedTuple):
    """seed: of its keys. word (int): which of the word parts it has, -1 = none. offsets: labels
    that it looks at."""

    seed: np.uint64
    word: int
    offsets: Tuple[int, ...]


class SplitTemplates(NamedTuple):
    """plain: templates about words only. words: word parts of label templates. labels: the label
    templates."""

    plain: List[Template]
    words: List[Template]
    labels: List[LabelTemplate]


def split_templates(templates: Sequence[Template]) -> SplitTemplates:
    """RAISES ValueError [HS018]: a template looks at the token's own label."""
    plain = []
    labels = []
    words: Dict[Template, int] = {}
    for template in templates:
        offsets = tuple(part.offset for part in template.parts if part.attribute == LABEL)
        if not offsets:
            plain.append(template)
            continue
        if 0 in offsets:
            raise ValueError(Errors.HS018.format(template=template))
        rest = Template(tuple(part for part in template.parts if part.attribute != LABEL))
        word = words.setdefault(rest, len(words)) if rest.parts else -1
        labels.append(LabelTemplate(np.uint64(get_string_id(str(template))), word, offsets))
    return SplitTemplates(plain, list(words), labels)


def label_keys(template: LabelTemplate, words: Keys, labels: Sequence[Keys]) -> Keys:
    """Keys of one label template at n tokens. words (P, n): keys of the word parts; labels: for
    each offset (n,), the label there as `label_values` has it. RETURNS (n,) uint64, 0 where the
    word part does not fire."""
    state = np.full(len(labels[0]), template.seed, np.uint64)
    if template.word >= 0:
        state = mix(state, words[template.word])
    for values in labels:
        state = mix(state, values)
    return state if template.word < 0 else np.where(words[template.word] != ABSENT, state, ABSENT)


def label_values(labels: Sequence[str]) -> Keys:
    """What stands for each label in a key; then for the places before (id L) and after (id L + 1)
    the sequence.

    A label is written with the attribute, so that one called "<s>" is not taken for the place
    before.
    """
    return _values_of(tuple(labels))


def label_names(labels: Sequence[str]) -> Dict[int, str]:
    """The inverse: the name of each value."""
    return dict(zip(label_values(labels).tolist(), [*labels, "<s>", "</s>"], strict=True))


@lru_cache(maxsize=64)
def _values_of(labels: Tuple[str, ...]) -> Keys:
    values = np.array(
        [*(get_string_id(f"{LABEL}={label}") for label in labels), BEFORE, AFTER], np.uint64
    )
    values.flags.writeable = False  # all who ask have the same array
    return values
