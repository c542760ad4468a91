"""Ready-made template sets, registered under `misc` for use in configs."""

from typing import Callable, List, Optional

LABEL_NGRAMS = [
    "label[-2]",
    "label[-1]",
    "label[1]",
    "label[2]",
    "label[-2]+label[-1]",
    "label[-1]+label[1]",
    "label[1]+label[2]",
]
KNOWN_TAGS = ["known_tags[-2..2]"]
KNOWN_TAGS_OF_SEVERAL = [
    "known_tags[-1]+known_tags[0]+known_tags[1]",
    "known_tags[-1]+lower[0]",
    "lower[0]+known_tags[1]",
]
GUIDE_TAGS = [
    "tag[-2..2]",
    "tag[0]+orth[-1..1]",
    "tag[-1]+tag[0]",
    "tag[0]+tag[1]",
    "tag[-1]+tag[1]",
    "tag[-1]+tag[0]+tag[1]",
    "tag[-2]+tag[-1]+tag[0]",
    "tag[0]+tag[1]+tag[2]",
    "tag[-1]+orth[0]",
    "orth[0]+tag[1]",
    "tag[0]+suffix1[0]",
    "tag[0]+length[0]",
]


def english_pos_templates() -> List[str]:
    """Part-of-speech tagging of English and other languages with capitals and suffixes."""
    return [
        "bias",
        "orth[0]",
        "lower[-2..2]",
        "lower[-1]+lower[0]",
        "lower[0]+lower[1]",
        "lower[-1]+lower[1]",
        "prefix1..5[0]",
        "suffix1..7[0]",
        "suffix3[-1]",
        "suffix3[1]",
        "shape[-1..1]",
        "short_shape[0]",
        "has_digit[0]",
        "has_hyphen[0]",
        "has_upper[0]",
    ]


def morphology_templates() -> List[str]:
    """Parts of speech and features of any language: words two to the left and right, all affixes up
    to ten characters (Mueller, Schmid & Schuetze 2013, section 4.2), and ends of the words
    beside."""
    return [
        "bias",
        "orth[0]",
        "lower[-2..2]",
        "lower[-1]+lower[0]",
        "lower[0]+lower[1]",
        "lower[-1]+lower[1]",
        "prefix1..10[0]",
        "suffix1..10[0]",
        "infix1..6[0]",
        "short_infix1..6[0]",
        "suffix2..4[-1]",
        "suffix2..4[1]",
        "suffix3[-1]+suffix3[0]",
        "suffix3[0]+suffix3[1]",
        "shape[-1..1]",
        "short_shape[0]",
        "char_classes[0]",
        "has_digit[0]",
        "has_hyphen[0]",
        "has_upper[0]",
    ]


def morphology_templates_v3() -> List[str]:
    """`morphology_templates`, which labels the words had in training, and both ends of the word
    together."""
    return [
        *KNOWN_TAGS,
        *morphology_templates(),
        "prefix3[0]+suffix3[0]",
        "prefix4[0]+suffix4[0]",
        "prefix2[0]+suffix2[0]",
        "suffix3[0]+short_shape[0]",
        "suffix2[0]+short_shape[0]",
        "suffix3[0]+length[0]",
        "edge[-1]+short_shape[0]",
        "infix1[0]+suffix1[0]",
    ]


def lemma_templates() -> List[str]:
    """Lemmas: the form, its ends, and its part of speech and features with them. No template looks
    at another word."""
    ends = ["lower[0]", "short_shape[0]", *(f"suffix{n}[0]" for n in range(1, 7))]
    starts = [f"prefix{n}[0]" for n in range(1, 5)]
    of_pos = [f"pos[0]+{end}" for end in ends]
    of_analysis = [f"pos[0]+morph[0]+{affix}" for affix in [*ends, *starts]]
    return [
        "bias",
        "lower[0]",
        "suffix1..10[0]",
        "prefix1..5[0]",
        "pos[0]+morph[0]",
        *of_pos,
        *of_analysis,
    ]


def sentence_templates() -> List[str]:
    """Where sentences begin: line breaks, signs and shapes of the words around, and whether a space
    stands between."""
    breaks = ["", "+orth[-1]", "+short_shape[0]", "+short_shape[-1]+short_shape[0]"]
    last = [
        "spacy[-1]",
        "orth[0]",
        "lower[-2]",
        "length[-2]",
        "spacy[-1]+short_shape[0]",
        "lower[-2]+short_shape[0]",
    ]
    return [
        "bias",
        "orth[-2..1]",
        "lower[0]",
        "shape[-2..1]",
        "lower[0]+lower[1]",
        "initial_upper[0]+spacy[-1]",
        "short_shape[-2]+orth[-1]+short_shape[0]",
        *(f"line_break[0]{each}" for each in breaks),
        *(f"orth[-1]+{each}" for each in last),
    ]


def chinese_pos_templates() -> List[str]:
    """Part-of-speech tagging of segmented Chinese: words and word pairs around, word length,
    characters of the word (Qian & Liu, "Chinese POS Tagging", low order features), with character
    classes and reduplication."""
    return [
        "bias",
        "orth[-2..2]",
        "orth[-1]+orth[0]",
        "orth[0]+orth[1]",
        "orth[-1]+orth[1]",
        "length[0]",
        "length[-1]+length[0]",
        "prefix1..3[0]",
        "suffix1..3[0]",
        "prefix1[0]+suffix1[0]",
        "suffix1[-1]",
        "prefix1[1]",
        "suffix1[0]+length[0]",
        "char_classes[-1..1]",
        "repeated_char[0]",
    ]


def bidirectional_pos_templates() -> List[str]:
    """Part-of-speech tagging with labels of neighbours: those of the paper, word forms and shapes,
    words around, and labels with words and suffixes."""
    return [
        *paper_pos_templates(),
        "orth[-2]",
        "orth[2]",
        "orth[-1]+orth[1]",
        "lower[-1..1]",
        "shape[-1..1]",
        "short_shape[0]",
        "suffix3[-1]",
        "suffix3[1]",
        "label[-1]+orth[-1]",
        "label[1]+orth[1]",
        "label[-2]+label[-1]+orth[0]",
        "label[1]+label[2]+orth[0]",
        "label[-1]+suffix3[0]",
        "label[1]+suffix3[0]",
        "label[-1]+label[1]+suffix3[0]",
        "label[-1]+label[1]+short_shape[0]",
    ]


def paper_pos_templates() -> List[str]:
    """Part-of-speech tagging with labels of neighbours (Tsuruoka & Tsujii 2005, Table 1)."""
    return [
        "orth[-1..1]",
        "orth[-1]+orth[0]",
        "orth[0]+orth[1]",
        "prefix1..10[0]",
        "suffix1..10[0]",
        "has_hyphen[0]",
        "has_digit[0]",
        "has_upper[0]",
        "is_upper[0]",
        *LABEL_NGRAMS,
        "label[-2]+label[-1]+label[1]",
        "label[-1]+label[1]+label[2]",
        "label[-2]+label[-1]+label[1]+label[2]",
        "label[-1]+orth[0]",
        "label[1]+orth[0]",
        "label[-1]+label[1]+orth[0]",
    ]


def bidirectional_chunk_templates() -> List[str]:
    """Chunking from words and parts of speech with labels of neighbours: those of the paper,
    affixes and shape, longer strings of tags, words with tags, and labels with words and tags."""
    return [
        *paper_chunk_templates(),
        "lower[-1..1]",
        "prefix2..3[0]",
        "suffix2..4[0]",
        "suffix3[-1]",
        "suffix3[1]",
        "shape[-1..1]",
        "orth[-1]+orth[1]",
        "orth[-1]+orth[0]+orth[1]",
        "tag[-3]",
        "tag[3]",
        "tag[-3]+tag[-2]+tag[-1]",
        "tag[1]+tag[2]+tag[3]",
        "tag[-2]+tag[-1]+tag[0]+tag[1]",
        "tag[-1]+tag[0]+tag[1]+tag[2]",
        "tag[-2]+tag[-1]+tag[0]+tag[1]+tag[2]",
        "tag[0]+orth[-1..1]",
        "tag[-1]+orth[0]",
        "tag[1]+orth[0]",
        "label[-1]+orth[-1..0]",
        "label[1]+orth[0..1]",
        "label[-1]+label[1]+orth[0]",
        "label[-1]+orth[0]+tag[1]",
        "label[-1]+suffix3[0]",
        "label[1]+suffix3[0]",
        "label[-1]+tag[0]",
        "label[1]+tag[0]",
        "label[-1]+label[1]+tag[0]",
        "label[-1]+tag[-1]+tag[0]",
        "label[-1]+tag[0]+tag[1]",
        "label[1]+tag[-1]+tag[0]",
        "label[1]+tag[0]+tag[1]",
    ]


def paper_chunk_templates() -> List[str]:
    """Chunking from words and parts of speech with labels of neighbours (Tsuruoka & Tsujii 2005,
    Table 4)."""
    return [
        "orth[-2..2]",
        "orth[-2]+orth[-1]",
        "orth[-1]+orth[0]",
        "orth[0]+orth[1]",
        "orth[1]+orth[2]",
        "tag[-2..2]",
        "tag[-2]+tag[-1]",
        "tag[-1]+tag[0]",
        "tag[0]+tag[1]",
        "tag[1]+tag[2]",
        "tag[-2]+tag[-1]+tag[0]",
        "tag[-1]+tag[0]+tag[1]",
        "tag[0]+tag[1]+tag[2]",
        *LABEL_NGRAMS,
    ]


def chunk_word_templates() -> List[str]:
    """Chunking from words: forms, word pairs, affixes and shapes around."""
    return [
        "bias",
        "orth[-2..2]",
        "lower[-2..2]",
        "orth[-2]+orth[-1]",
        "orth[-1]+orth[0]",
        "orth[0]+orth[1]",
        "orth[1]+orth[2]",
        "lower[-1]+lower[0]",
        "lower[0]+lower[1]",
        "orth[-1]+orth[1]",
        "orth[-1]+orth[0]+orth[1]",
        "prefix1..3[0]",
        "suffix1..4[0]",
        "suffix3[-1]",
        "suffix3[1]",
        "shape[-1..1]",
        "has_digit[0]",
        "has_upper[0]",
    ]


def entity_templates() -> List[str]:
    """Named entities from words: forms, affixes and shapes of five words, and pairs of words and
    shapes."""
    return [
        "bias",
        "orth[-2..2]",
        "lower[-2..2]",
        "lower[-1]+lower[0]",
        "lower[0]+lower[1]",
        "prefix1..4[0]",
        "suffix1..4[0]",
        "prefix3[-1]",
        "prefix3[1]",
        "suffix3[-1]",
        "suffix3[1]",
        "shape[-2..2]",
        "short_shape[-1]+short_shape[0]",
        "short_shape[0]+short_shape[1]",
        "short_shape[-1]+short_shape[0]+short_shape[1]",
        "lower[-1]+short_shape[0]",
        "short_shape[0]+lower[1]",
        "has_digit[0]",
        "has_hyphen[0]",
        "is_upper[0]",
    ]


def character_entity_templates() -> List[str]:
    """Named entities where each token is a character: strings of up to three around it, and what
    kind they are."""
    return [
        "bias",
        "orth[-2..2]",
        "orth[-2]+orth[-1]",
        "orth[-1]+orth[0]",
        "orth[0]+orth[1]",
        "orth[1]+orth[2]",
        "orth[-1]+orth[1]",
        "orth[-2]+orth[-1]+orth[0]",
        "orth[-1]+orth[0]+orth[1]",
        "orth[0]+orth[1]+orth[2]",
        "char_classes[-1..1]",
        "char_classes[-1]+char_classes[0]+char_classes[1]",
    ]


def chinese_entity_templates() -> List[str]:
    """Named entities in Chinese, whether tokens are words or characters: strings of up to three
    characters, those at the ends of words among them, and words, which differ from their
    characters where there are several."""
    longer = "several_chars[{0}]+{1}[{0}]"
    return [
        "bias",
        "suffix1[-2..2]",
        "suffix1[-2]+suffix1[-1]",
        "suffix1[-1]+suffix1[0]",
        "suffix1[0]+suffix1[1]",
        "suffix1[1]+suffix1[2]",
        "suffix1[-1]+suffix1[1]",
        "orth[-2]+orth[-1]+orth[0]",
        "orth[-1]+orth[0]+orth[1]",
        "orth[0]+orth[1]+orth[2]",
        "char_classes[-1..1]",
        "char_classes[-1]+char_classes[0]+char_classes[1]",
        "length[-1..1]",
        "suffix1[0]+length[0]",
        *(longer.format(place, "orth") for place in range(-2, 3)),
        *(longer.format(place, "prefix1") for place in range(-1, 2)),
        "several_chars[-1]+orth[-1]+orth[0]",
        "orth[-1]+several_chars[0]+orth[0]",
        "several_chars[0]+orth[0]+orth[1]",
        "orth[0]+several_chars[1]+orth[1]",
        "orth[-2]+several_chars[-1]+orth[-1]",
        "several_chars[1]+orth[1]+orth[2]",
        "several_chars[-1]+orth[-1]+orth[1]",
        "several_chars[0]+prefix1[0]+suffix1[0]",
        "prefix2[-1..1]",
        "suffix2[-2..2]",
        "suffix2[-1]+suffix2[0]",
        "suffix2[0]+suffix2[1]",
    ]


def segmentation_templates() -> List[str]:
    """Words of texts without spaces, where each token is a unit (segmentation/units.py): strings of
    up to two within two places, what kind of characters they are, and where known words lie."""
    return [
        "bias",
        "folded[-2..2]",
        "folded[-1]+folded[0]",
        "folded[0]+folded[1]",
        "folded[-1]+folded[1]",
        "char_classes[-1..1]",
        "char_classes[-1]+char_classes[0]+char_classes[1]",
        "known_begins[-1..1]",
        "known_inside[-1..1]",
        "known_ends[-1..1]",
        "known_begins[0]+known_inside[0]+known_ends[0]",
        "known_begins[0]+known_ends[-1]",
        "known_begins[1]+known_ends[0]",
    ]


def spaced_segmentation_templates() -> List[str]:
    """Words and sentences of texts with spaces, where each token is a unit: units and shapes around,
    whether white space stands between them, and where known words lie."""
    gaps = "gap[-1]+gap[0]"
    shapes = "short_shape[-1]+short_shape[0]+short_shape[1]"
    return [
        "bias",
        "lower[-2..2]",
        "orth[0..1]",
        "shape[-2..2]",
        "suffix3[0]",
        "gap[-2..1]",
        gaps,
        f"orth[0]+{gaps}",
        f"orth[1]+{gaps}",
        f"orth[-1]+{gaps}",
        f"{shapes}+{gaps}",
        f"orth[0]+short_shape[1]+{gaps}",
        f"orth[0]+short_shape[-1]+short_shape[1]+{gaps}",
        f"short_shape[-2]+{shapes}+{gaps}",
        f"orth[-1]+orth[0]+{gaps}",
        f"orth[0]+orth[1]+{gaps}",
        f"lower[-1]+lower[0]+lower[1]+{gaps}",
        f"lower[-1]+orth[0]+short_shape[1]+{gaps}",
        f"length[-1]+orth[0]+short_shape[1]+{gaps}",
        f"orth[0]+orth[1]+short_shape[2]+{gaps}+gap[1]",
        f"orth[-1]+orth[0]+short_shape[1]+gap[-2]+{gaps}",
        "known_begins[-1..1]",
        "known_inside[-1..1]",
        "known_ends[-1..1]",
        "known_begins[0]+known_inside[0]+known_ends[0]",
        "known_begins[1]+known_ends[0]",
    ]


def word_entity_templates() -> List[str]:
    """Named entities in segmented Chinese: words around, pairs of words, their first and last
    characters and length."""
    return [
        "bias",
        "orth[-2..2]",
        "orth[-2]+orth[-1]",
        "orth[-1]+orth[0]",
        "orth[0]+orth[1]",
        "orth[1]+orth[2]",
        "orth[-1]+orth[1]",
        "prefix1..2[-1..1]",
        "suffix1..2[-2..2]",
        "suffix1[-1]+suffix1[0]",
        "suffix1[0]+suffix1[1]",
        "suffix2[-1]+suffix2[0]",
        "suffix2[0]+suffix2[1]",
        "prefix1[0]+suffix1[0]",
        "length[-1..1]",
        "suffix1[0]+length[0]",
        "char_classes[-1..1]",
    ]


def chunk_templates() -> List[str]:
    """Chunking from words and parts of speech that are given: those for words, strings of tags,
    words with tags."""
    return [*chunk_word_templates(), *_tag_strings("tag", longest=5)]


def upstream_chunk_templates() -> List[str]:
    """Labels of an earlier component, up to three in a row, as `chunk_templates` reads tags
    (features/upstream_templates.py)."""
    return _tag_strings("upstream", longest=3)


def _tag_strings(tag: str, longest: int) -> List[str]:
    places = [(-2,), (-1,), (0,), (1,), (2,), (-3,), (3,), (-2, -1), (-1, 0), (0, 1), (1, 2)]
    places += [(-2, -1, 0), (-1, 0, 1), (0, 1, 2), (-3, -2, -1), (1, 2, 3)]
    places += [(-2, -1, 0, 1), (-1, 0, 1, 2), (-2, -1, 0, 1, 2)]
    strings = [
        "+".join(f"{tag}[{offset}]" for offset in place)
        for place in places
        if len(place) <= longest
    ]
    words = [f"{tag}[0]+{word}" for word in ("orth[-1..1]", "lower[-1]", "lower[1]")]
    return [*strings, *words, f"{tag}[-1]+orth[0]", f"{tag}[1]+orth[0]"]


def multilayer_templates(n_tags: int = 45) -> List[str]:
    """Words in both layers of Azuma & Matsumoto (2011), Table 1. n_tags (int): parts of speech in
    the training data; words are looked up in the table of `spacy_hoseq.known_tags.v1`."""
    return [
        "edge[-1]",
        "edge[1]",
        "orth[0]",
        "suffix1..3[0]",
        "initial_upper[-2..2]",
        "is_upper[-2..2]",
        "has_digit[-2..2]",
        f"known_tag0..{n_tags - 1}[-2..2]",
    ]


def english_pos_templates_v2() -> List[str]:
    """`english_pos_templates` with known tags."""
    return [*KNOWN_TAGS, *english_pos_templates()]


def sentence_templates_v2() -> List[str]:
    """`sentence_templates`, and the last sign of the word before with the word and the shapes that
    follow: a capital "He" begins a sentence behind any abbreviation."""
    ends = ["orth[0]", "short_shape[-1]+orth[0]", "short_shape[0]+short_shape[1]"]
    return [*sentence_templates(), *(f"suffix1[-1]+{each}" for each in ends)]


def spaced_segmentation_templates_v2() -> List[str]:
    """`spaced_segmentation_templates`, with more ends of words: of each unit and the next, and together
    with the shapes on both sides of a space, which tells titles without a full stop from names."""
    ends = ["suffix2[1]", "suffix3[1]", "prefix3[1]", "lower[1]"]
    return [
        *spaced_segmentation_templates(),
        "shape[-1]+shape[0]+gap[-1]",
        "shape[0]+shape[1]+gap[0]",
        "suffix1..2[0]",
        "suffix4[0]",
        "suffix1..4[1]",
        "prefix1..3[0..1]",
        "suffix1..3[-1]",
        "suffix2..3[0]+short_shape[1]+gap[0]",
        *(f"{end}+short_shape[0]+short_shape[1]+gap[0]" for end in ends),
    ]


def chinese_pos_templates_v2() -> List[str]:
    """`chinese_pos_templates` with known tags."""
    return [*KNOWN_TAGS, *chinese_pos_templates()]


def accurate_pos_templates() -> List[str]:
    """`english_pos_templates_v2`, more words around, and more of their tags in training. Most look
    at one word, which costs no time in tagging."""
    return [
        *english_pos_templates_v2(),
        "orth[-1]",
        "orth[1]",
        "lower[-3]",
        "lower[3]",
        "prefix6..8[0]",
        "suffix8..10[0]",
        "suffix1..2[-1]",
        "suffix4[-1]",
        "suffix1..2[1]",
        "suffix4[1]",
        "suffix3[-2]",
        "suffix3[2]",
        "short_shape[-1]",
        "short_shape[1]",
        "suffix2[0]+short_shape[0]",
        "suffix3[0]+short_shape[0]",
        "lower[-2]+lower[-1]",
        "lower[1]+lower[2]",
        "suffix3[-1]+suffix3[0]",
        "suffix3[0]+suffix3[1]",
        "edge[-1]+short_shape[0]",
        "short_shape[-1]+short_shape[0]+short_shape[1]",
        *KNOWN_TAGS_OF_SEVERAL,
    ]


def accurate_chinese_pos_templates() -> List[str]:
    """`chinese_pos_templates_v2`, and more of the tags that words had in training."""
    return [*chinese_pos_templates_v2(), *KNOWN_TAGS_OF_SEVERAL]


def guided_pos_templates(templates: Optional[List[str]] = None) -> List[str]:
    """For a tagger after another one, a guide, whose tags stand on the Doc: those tags, alone and
    with words (Jiang, Huang & Liu 2009, "Automatic adaptation of annotation standards", section
    3.2).

    templates: what the tagger reads beside; None = `english_pos_templates_v2`.
    """
    return [*(english_pos_templates_v2() if templates is None else templates), *GUIDE_TAGS]


def _with_classes(name: str, templates: Callable[[], List[str]]) -> Callable[[int], List[str]]:
    """A set of this name that reads classes of words, too."""

    def with_classes(classes: int) -> List[str]:
        """The version before, and classes of words.

        classes (int): columns of the table; the last one, such as the tags of a lexicon, is read in
            pairs, too.
        """
        last = f"word_class{classes}"
        pairs = [f"{last}[-1]+{last}[0]", f"{last}[0]+{last}[1]"]
        return [*templates(), f"word_class1..{classes}[-1..1]", *pairs]

    with_classes.__name__ = with_classes.__qualname__ = name
    return with_classes


english_pos_templates_v3 = _with_classes("english_pos_templates_v3", english_pos_templates_v2)
accurate_pos_templates_v2 = _with_classes("accurate_pos_templates_v2", accurate_pos_templates)
morphology_templates_v2 = _with_classes("morphology_templates_v2", morphology_templates)
morphology_templates_v4 = _with_classes("morphology_templates_v4", morphology_templates_v3)
chunk_word_templates_v2 = _with_classes("chunk_word_templates_v2", chunk_word_templates)
chunk_templates_v2 = _with_classes("chunk_templates_v2", chunk_templates)
entity_templates_v2 = _with_classes("entity_templates_v2", entity_templates)
chinese_pos_templates_v3 = _with_classes("chinese_pos_templates_v3", chinese_pos_templates_v2)
accurate_chinese_pos_templates_v2 = _with_classes(
    "accurate_chinese_pos_templates_v2", accurate_chinese_pos_templates
)
chinese_entity_templates_v2 = _with_classes("chinese_entity_templates_v2", chinese_entity_templates)


def entity_templates_v3(classes: int) -> List[str]:
    """`entity_templates`, classes, and one more: the lists of names that the word is in."""
    return entity_templates_v2(classes + 1)
