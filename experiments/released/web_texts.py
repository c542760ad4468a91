"""What people write on the web, put into sentences of treebanks, which have little of it: for a tagger.

    python web_texts.py OUTPUT.spacy TRAIN.spacy

A fifth of the sentences of TRAIN.spacy, with one thing each: emoji (tag NFP, as emoticons in EWT), addresses and users
(ADD), hashtags, HTML and markdown (NFP), names of code and of its files. All names of such things are made of the
treebank's own words. The same file gives the same bytes.
"""

import random
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import spacy
import typer
from spacy.tokens import Doc, DocBin

SHARE = 0.2  # of the sentences
OFTEN = "😀😂🤣😊😍😭😅😎🤔😡😢😉🙂🙁😬🥳👍👎👏🙏💪❤🔥🎉🌹☀⭐⚽🎵💔👀✨🚀📷🏠✅❌☕🎂💯"
RANGES = ((0x2600, 0x27C0), (0x1F300, 0x1F650), (0x1F680, 0x1F700), (0x1F900, 0x1FA00))
ANY = [
    chr(code)
    for first, end in RANGES
    for code in range(first, end)
    if unicodedata.category(chr(code)) == "So"
]
SKINS = "🏻🏼🏽🏾🏿"
HANDS = "👍👎👏🙏💪👋"
HEART = "❤\ufe0f"
ENDINGS = ("com", "org", "net", "co.uk", "de", "info", "io", "example", "edu")
BLOCKS = ("p", "li", "div", "h1", "h2", "h3", "td", "span", "title")
INLINE = ("b", "i", "em", "strong", "a", "code", "u")
ENTITIES = ("&euro;", "&pound;", "&#8364;")
STOPS = {".", "!", "?"}
NOUNS = {"NN", "NNS", "NNP", "NNPS"}
NOTHING, ADDRESS, SYMBOL = "NFP", "ADD", "SYM"


class Word(NamedTuple):
    text: str
    tag: str
    space: bool = True


Text = list[Word]
Names = list[str]  # ordinary words, in lower case: others are made of them
Change = Callable[[Text, Names, random.Random], Text]


def main(output: Path, train: Path) -> None:
    vocab = spacy.blank("en").vocab
    texts = list(sentences(DocBin().from_disk(train).get_docs(vocab)))
    names = sorted(
        {word.text for text in texts for word in text if word.tag == "NN" and plain(word.text)}
    )
    chance = random.Random(0)
    docs = DocBin(attrs=("ORTH", "SPACY", "SENT_START", "TAG"), store_user_data=False)
    for i, text in enumerate(chance.sample(texts, round(SHARE * len(texts)))):
        docs.add(doc_of(CHANGES[i % len(CHANGES)](text, names, chance), vocab))
    output.parent.mkdir(parents=True, exist_ok=True)
    docs.to_disk(output)
    print(f"{output}: {len(docs):,} sentences", file=sys.stderr)


def sentences(docs: Iterator[Doc]) -> Iterator[Text]:
    for doc in docs:
        for sentence in doc.sents:
            text = [Word(t.text, t.tag_, bool(t.whitespace_)) for t in sentence if not t.is_space]
            if text:
                yield text


def plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and word.islower() and 2 < len(word) < 10


def with_emoji(text: Text, names: Names, chance: random.Random) -> Text:
    """One to three at the end, before or behind the full stop, or in its place; or one before the sentence."""
    emoji = [
        Word(an_emoji(chance), NOTHING, chance.random() < 0.5)
        for _ in range(chance.choice((1, 1, 1, 2, 3)))
    ]
    ends = text[-1].text in STOPS
    body = text[:-1] if ends else text
    stop = text[-1:] if ends else []
    orders = [body + stop + emoji, body + emoji + stop, body + emoji, emoji + text]
    return chance.choice(orders if ends else [body + emoji, emoji + text])


def an_emoji(chance: random.Random) -> str:
    if chance.random() < 0.1:
        return chance.choice((HEART, chance.choice(HANDS) + chance.choice(SKINS)))
    return chance.choice(OFTEN if chance.random() < 0.5 else ANY)


def with_address(text: Text, names: Names, chance: random.Random) -> Text:
    """At the end, before a comma, or in the place of a noun."""
    address = Word(chance.choice((a_page, a_mailbox, a_path))(names, chance), ADDRESS)
    if chance.random() < 0.3:
        return in_place_of_noun(text, lambda noun: address._replace(space=noun.space), chance)
    return inserted(text, address, chance)


def a_host(names: Names, chance: random.Random) -> str:
    return f"{chance.choice(names)}{chance.choice(('', '-', '.'))}{chance.choice(names)}.{chance.choice(ENDINGS)}"


def a_page(names: Names, chance: random.Random) -> str:
    start = chance.choice(("http://", "https://", "https://www.", "www.", ""))
    end = chance.choice(("", "", "/", f"/{chance.choice(names)}", f"/{chance.choice(names)}.html"))
    more = (
        chance.choice(("", "", f"?{chance.choice(names)}={chance.randrange(1000)}&lang=en", "#top"))
        if end
        else ""
    )
    return start + a_host(names, chance) + end + more


def a_mailbox(names: Names, chance: random.Random) -> str:
    user = chance.choice(names) + chance.choice(
        ("", f".{chance.choice(names)}", str(chance.randrange(100)))
    )
    return f"{user}@{a_host(names, chance)}"


def a_path(names: Names, chance: random.Random) -> str:
    parts = [chance.choice(names) for _ in range(chance.choice((2, 3)))]
    return (
        chance.choice(("/", "~/", "./")) + "/".join(parts) + chance.choice(("", ".txt", ".py", "/"))
    )


def with_user(text: Text, names: Names, chance: random.Random) -> Text:
    """Before the sentence, or in the place of a noun."""
    joint = chance.choice(("", "_", ""))
    user = f"@{chance.choice(names)}{joint}{chance.choice(names)}{chance.choice(('', str(chance.randrange(99))))}"
    if chance.random() < 0.5:
        return [Word(user, ADDRESS), *text]
    return in_place_of_noun(text, lambda noun: Word(user, ADDRESS, noun.space), chance)


def with_hashtag(text: Text, names: Names, chance: random.Random) -> Text:
    """A noun of the sentence as one, or up to three behind the sentence: common nouns, or proper ones with capitals."""
    if chance.random() < 0.5:
        return in_place_of_noun(text, lambda noun: noun._replace(text=f"#{noun.text}"), chance)
    tags = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        parts = [chance.choice(names) for _ in range(chance.choice((1, 2)))]
        proper = chance.random() < 0.4
        name = "".join(part.title() if proper else part for part in parts)
        year = str(chance.randrange(2010, 2030)) if chance.random() < 0.2 else ""
        tags.append(Word(f"#{name}{year}", "NNP" if proper else "NN"))
    return [*spaced(text), *tags]


def with_html(text: Text, names: Names, chance: random.Random) -> Text:
    """Around the sentence, around a word, at the end; or a currency before a number."""
    kind = chance.random()
    if kind < 0.1:
        return [
            Word(chance.choice(ENTITIES), SYMBOL, False),
            Word(str(chance.randrange(1, 500)), "CD"),
            *text,
        ]
    if kind < 0.2:
        return [*spaced(text, False), Word(chance.choice(("<br>", "<br/>", "<hr>")), NOTHING)]
    name = chance.choice(BLOCKS if kind < 0.7 else INLINE)
    return wrapped(text, f"<{name}>", f"</{name}>", NOTHING, NOTHING, chance, whole=name in BLOCKS)


def with_markdown(text: Text, names: Names, chance: random.Random) -> Text:
    """A heading, an item, a quotation; or a word that is marked."""
    if chance.random() < 0.5:
        return [Word(chance.choice(("#", "##", "###", "-", "*", "+", ">")), NOTHING), *text]
    mark = chance.choice(("*", "**", "_", "__", "`", "`"))
    first, last = ("``", "''") if mark == "`" else (NOTHING, NOTHING)
    return wrapped(text, mark, mark, first, last, chance, whole=False)


def with_code(text: Text, names: Names, chance: random.Random) -> Text:
    """A name of code in the place of a noun."""
    one = chance.choice(names)
    other = chance.choice(names)
    forms = (
        f"{one}_{other}",
        f"{one}{other.title()}",
        f"{one}()",
        f"{one}_{other}()",
        f"--{one}",
        f"{one}.{other}",
    )
    return in_place_of_noun(text, lambda noun: Word(chance.choice(forms), "NN", noun.space), chance)


CHANGES: Sequence[Change] = (
    *(
        with_emoji,
        with_emoji,
        with_address,
        with_user,
    ),  # emoji twice: they are most frequent, and many
    *(with_hashtag, with_html, with_markdown, with_code),
)


def in_place_of_noun(text: Text, made: Callable[[Word], Word], chance: random.Random) -> Text:
    """One noun that stands alone is replaced, if there is one."""
    alone = [
        i
        for i, word in enumerate(text)
        if word.tag in NOUNS
        and word.text.isalpha()
        and not (text[i - 1 : i] and text[i - 1].tag in NOUNS)
        and not (text[i + 1 : i + 2] and text[i + 1].tag in NOUNS)
    ]
    if not alone:
        return text
    place = chance.choice(alone)
    return [*text[:place], made(text[place]), *text[place + 1 :]]


def inserted(text: Text, word: Word, chance: random.Random) -> Text:
    """Before a comma, or before the full stop."""
    commas = [i for i, word in enumerate(text) if i and word.text == ","]
    end = len(text) - (text[-1].text in STOPS)
    place = chance.choice([*commas, end, end])
    return [*spaced(text[:place]), word._replace(space=place == len(text)), *text[place:]]


def wrapped(
    text: Text,
    before: str,
    behind: str,
    first: str,
    last: str,
    chance: random.Random,
    *,
    whole: bool,
) -> Text:
    """The text, or one word of it, between two marks, without spaces."""
    start = 0 if whole else chance.randrange(len(text))
    end = len(text) if whole else start + 1
    inner = text[start:end]
    marked = [
        Word(before, first, False),
        *spaced(inner, False),
        Word(behind, last, inner[-1].space),
    ]
    return [*text[:start], *marked, *text[end:]]


def spaced(text: Text, space: bool = True) -> Text:
    """With a space behind it, or none."""
    return [*text[:-1], text[-1]._replace(space=space)] if text else text


def doc_of(text: Text, vocab: spacy.vocab.Vocab) -> Doc:
    starts = [i == 0 for i in range(len(text))]
    words, tags, spaces = map(list, zip(*text, strict=True))
    return Doc(vocab, words, spaces, tags=tags, sent_starts=starts)


if __name__ == "__main__":
    typer.run(main)
