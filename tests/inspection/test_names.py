"""Features of a model in words."""

import numpy as np

from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.inspection.names import FeatureNames
from spacy_hoseq.layers.scorer import TemplateFeature

from ..layers.helpers import doc_of


def test_names_end_with_the_sentence():
    """What stands beyond is no word of it, in the same Doc or in the next."""
    names = FeatureNames([doc_of("a cat sat", sent_starts=[1, 0, 1]), doc_of("dogs")])
    (before,), (after,) = (parse_templates([f"lower[{offset}]"])[0].parts for offset in (-1, 1))
    assert [names.value(before, word) for word in range(4)] == ["<s>", "a", "<s>", "<s>"]
    assert [names.value(after, word) for word in range(4)] == ["cat", "</s>", "</s>", "</s>"]
    features = [TemplateFeature([before], word, np.zeros(3)) for word in (1, 2)]
    looks_at = [names.named(feature).looks_at for feature in features]
    assert looks_at == [(0,), ()]
