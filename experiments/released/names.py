"""Names among the mentions of entities that GUM annotates, without overlap: PER, LOC, ORG, and MISC for what else has a
proper name.

GUM marks every noun phrase that stands for an entity, with all that belongs to it ("Claire, who lives there"). A
mention is a name if its head is a proper noun; a plural one of persons ("Americans") is MISC. What stands before the
first and behind the last word of the name is left out: articles, what goes up to a title ("U.S. President"), possessive
endings, appositions and relative clauses. Of nested names the longest one counts.
"""

from collections.abc import Sequence
from typing import NamedTuple

from spacy_hoseq.readers.sentences import LabelledSpan

PERSON = "person"
TYPES = {PERSON: "PER", "place": "LOC", "organization": "ORG"}
NO_NAMES = {"time"}  # January
TITLES = {
    *(
        "mr.",
        "mrs.",
        "ms.",
        "mr",
        "mrs",
        "ms",
        "miss",
        "dr.",
        "dr",
        "prof.",
        "professor",
        "president",
        "vice",
        "sir",
    ),
    *(
        "lord",
        "lady",
        "king",
        "queen",
        "prince",
        "princess",
        "senator",
        "sen.",
        "rep.",
        "gov.",
        "governor",
        "justice",
    ),
    *(
        "judge",
        "chief",
        "captain",
        "general",
        "colonel",
        "minister",
        "secretary",
        "mayor",
        "pope",
        "father",
        "rev.",
    ),
    *(
        "reverend",
        "most",
        "many",
        "all",
        "mister",
        "madam",
        "madame",
        "doctor",
        "aunt",
        "uncle",
        "sister",
        "brother",
    ),
    *(
        "bishop",
        "archbishop",
        "cardinal",
        "sheikh",
        "imam",
        "emperor",
        "empress",
        "tsar",
        "count",
        "earl",
        "dame",
    ),
    *(
        "premier",
        "ambassador",
        "chairman",
        "chairwoman",
        "congressman",
        "congresswoman",
        "undersecretary",
        "director",
    ),
    *(
        "administrator",
        "commissioner",
        "ceo",
        "sheriff",
        "inspector",
        "detective",
        "officer",
        "coach",
        "commander",
    ),
    *(
        "major",
        "lieutenant",
        "sergeant",
        "admiral",
        "gen.",
        "maj.",
        "lt.",
        "sgt.",
        "col.",
        "capt.",
        "hon.",
    ),
}
PLURAL = "NNPS"
PROPER = {"NNP", PLURAL}
BEHIND = {
    ",",
    "(",
    "-LRB-",
    ";",
    ":",
    '"',
    "who",
    "which",
    "that",
    "--",
    "/",
}  # what a name does not go beyond
PREPOSITIONS = {"of", "for", "de", "and"}  # inside of names
NOT_LAST = {"POS", "IN", "CC", "DT", "RB", ",", ".", ":", "``", "''", "HYPH"}


class Mention(NamedTuple):
    """The words first <= i < end. identity: the title of an article, if there is one."""

    first: int
    end: int
    type: str
    identity: str


def names_among(
    mentions: Sequence[Mention], words: Sequence[str], tags: Sequence[str], heads: Sequence[int]
) -> list[LabelledSpan]:
    """The names of a sentence, in order."""
    names = [name for mention in mentions for name in name_of(mention, words, tags, heads)]
    kept: list[LabelledSpan] = []
    for name in sorted(names, key=lambda name: (name.first - name.end, name)):
        if all(name.end <= other.first or other.end <= name.first for other in kept):
            kept.append(name)
    return sorted(kept)


def name_of(
    mention: Mention, words: Sequence[str], tags: Sequence[str], heads: Sequence[int]
) -> list[LabelledSpan]:
    """The name in a mention, if there is one."""
    first, end = mention.first, mention.end
    places = range(first, end)
    head = next((i for i in places if heads[i] not in places), first)
    named = mention.type in TYPES or bool(mention.identity)
    if tags[head] not in PROPER or mention.type in NO_NAMES or not named:
        return []
    end = next((i for i in range(head + 1, end) if _is_behind(words[i].lower(), tags[i])), end)
    if mention.type == PERSON:  # Queen Elizabeth, but Prince Edward Island
        first = max(
            (i + 1 for i in range(first, head) if words[i].lower() in TITLES), default=first
        )
    while first < head and tags[first] not in PROPER:
        first += 1
    while end > first and tags[end - 1] in NOT_LAST:
        end -= 1
    is_title = end == first + 1 and words[first].lower() in TITLES
    is_people = mention.type == PERSON and tags[head] == PLURAL
    label = "MISC" if is_people else TYPES.get(mention.type, "MISC")
    return [] if first >= end or is_title else [LabelledSpan(first, end, label)]


def _is_behind(word: str, tag: str) -> bool:
    return word in BEHIND or tag.startswith("VB") or (tag == "IN" and word not in PREPOSITIONS)
