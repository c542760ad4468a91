"""Templates that look at the labels of an earlier component, which are known as probabilities.

They are written like all others, with the attribute `upstream`: "upstream[0]",
"upstream[-1]+upstream[0]", "upstream[0]+lower[0]". Part of them can be about words. Each label (or
string of labels) that is probable there makes a feature, and its probability is the feature's
value.
"""

from typing import List, NamedTuple, Sequence, Tuple

from ..errors import Errors
from .keys import LabelTemplate, split_templates
from .templates import Part, Template

UPSTREAM = "upstream"
PLACES = 'labels of the earlier component, each place once, such as "upstream[-1]+upstream[0]"'


class Place(NamedTuple):
    """Where a template looks at labels. first: the offset of the first one. shape: of each label,
    seen from that."""

    first: int
    shape: Tuple[int, ...]


class UpstreamTemplates(NamedTuple):
    """words: word parts of the templates. labels: the templates; offsets rising."""

    words: List[Template]
    labels: List[LabelTemplate]

    def parts(self, template: LabelTemplate) -> Tuple[Part, ...]:
        """Parts of a template: those about words first."""
        of_words = self.words[template.word].parts if template.word >= 0 else ()
        return (*of_words, *(Part(UPSTREAM, offset) for offset in template.offsets))

    @property
    def margin(self) -> int:
        """Largest distance of a label that a template reads."""
        return max(abs(offset) for template in self.labels for offset in template.offsets)

    @property
    def places(self) -> List[Place]:
        """Place of each template."""
        offsets = [template.offsets for template in self.labels]
        return [Place(of[0], tuple(offset - of[0] for offset in of)) for of in offsets]

    @property
    def shapes(self) -> List[Tuple[int, ...]]:
        """The distinct ones."""
        return list(dict.fromkeys(place.shape for place in self.places))


def split_upstream(templates: Sequence[Template]) -> UpstreamTemplates:
    """RAISES ValueError [HS027]: a template without a label of the earlier component, or with one
    place twice."""
    for template in templates:
        offsets = [part.offset for part in template.parts if part.attribute == UPSTREAM]
        if not offsets or len(set(offsets)) < len(offsets):
            raise ValueError(
                Errors.HS027.format(name="template", value=f'"{template}"', expected=PLACES)
            )
    _, words, labels = split_templates(templates, UPSTREAM)
    in_order = [label._replace(offsets=tuple(sorted(label.offsets))) for label in labels]
    return UpstreamTemplates(words, in_order)
