"""F of what is found in raw text, by the rules of the CoNLL 2018 shared task (Zeman et al. 2018, section 5).

Words are aligned by their characters, those of a multi-word token by the longest common subsequence of their forms.
"""

from typing import NamedTuple

UNIVERSAL = frozenset(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood Tense Aspect "
    "Voice Evident Polarity Person Polite".split()
)
COLUMNS = ("words", "sentences", "UPOS", "XPOS", "UFeats", "lemmas")


class Token(NamedTuple):
    """text: as written. words: rows of form, tag, part of speech, features, lemma; several of a multi-word token."""

    text: str
    words: list[list[str]]


Sentences = list[list[Token]]


def sentences_of(text: str) -> Sentences:
    """Those of CoNLL-U."""
    found: Sentences = []
    for block in text.split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
        tokens: list[Token] = []
        end = 0
        for row in rows:
            if "." in row[0]:
                continue
            first, _, last = row[0].partition("-")
            if last:
                tokens.append(Token(row[1], []))
                end = int(last)
            else:
                word = [row[1], row[4], row[3], row[5], row[2]]
                if int(first) <= end:
                    tokens[-1].words.append(word)
                else:
                    tokens.append(Token(row[1], [word]))
        if tokens:
            found.append(tokens)
    return found


class Placed(NamedTuple):
    """Words in order with their characters, white space left out: (first, end, whether of a multi-word token, row)."""

    words: list[tuple[int, int, bool, list[str]]]
    sentences: set[tuple[int, int]]
    text: str


def placed(sentences: Sentences) -> Placed:
    words, spans, text = [], set(), ""
    for tokens in filter(None, sentences):
        start = len(text)
        for token in tokens:
            first = len(text)
            text += "".join(token.text.split())
            words += [(first, len(text), len(token.words) > 1, row) for row in token.words]
        spans.add((start, len(text)))
    return Placed(words, spans, text)


def aligned(gold: Placed, found: Placed) -> list[tuple[list[str], list[str]]]:
    """Rows of words that are the same: by their characters, or where either has a multi-word token, the longest common
    subsequence of forms (Zeman et al. 2018, section 5)."""
    pairs = []
    i = k = 0
    while i < len(gold.words) and k < len(found.words):
        ours, theirs = gold.words[i], found.words[k]
        if ours[2] or theirs[2]:
            end_i, end_k, end = i, k, (ours if ours[2] else theirs)[1]
            start = (ours if ours[2] else theirs)[0]
            while end_i < len(gold.words) or end_k < len(found.words):
                if end_i < len(gold.words) and gold.words[end_i][0] < end:
                    end = max(end, gold.words[end_i][1] if gold.words[end_i][2] else end)
                    end_i += 1
                elif end_k < len(found.words) and found.words[end_k][0] < end:
                    end = max(end, found.words[end_k][1] if found.words[end_k][2] else end)
                    end_k += 1
                else:
                    break
            while i < end_i and not gold.words[i][2] and gold.words[i][0] < start:
                i += 1
            while k < end_k and not found.words[k][2] and found.words[k][0] < start:
                k += 1
            pairs += common(
                [row for *_, row in gold.words[i:end_i]], [row for *_, row in found.words[k:end_k]]
            )
            i, k = end_i, end_k
        elif ours[:2] == theirs[:2]:
            pairs.append((ours[3], theirs[3]))
            i, k = i + 1, k + 1
        elif ours[0] <= theirs[0]:
            i += 1
        else:
            k += 1
    return pairs


def common(gold: list[list[str]], found: list[list[str]]) -> list[tuple[list[str], list[str]]]:
    best = [[0] * (len(found) + 1) for _ in range(len(gold) + 1)]
    for i in range(len(gold) - 1, -1, -1):
        for k in range(len(found) - 1, -1, -1):
            same = gold[i][0].lower() == found[k][0].lower()
            best[i][k] = max(best[i + 1][k], best[i][k + 1], best[i + 1][k + 1] + 1 if same else 0)
    pairs, i, k = [], 0, 0
    while i < len(gold) and k < len(found):
        if gold[i][0].lower() == found[k][0].lower():
            pairs.append((gold[i], found[k]))
            i, k = i + 1, k + 1
        elif best[i + 1][k] >= best[i][k + 1]:
            i += 1
        else:
            k += 1
    return pairs


def universal(features: str) -> list[str]:
    return sorted(each for each in features.split("|") if each.split("=")[0] in UNIVERSAL)


def score(gold: Sentences, found: Sentences) -> dict[str, float]:
    """F in per cent, by column."""
    ours, theirs = placed(gold), placed(found)
    if ours.text != theirs.text:
        raise ValueError("the texts differ")
    pairs = aligned(ours, theirs)
    right = {
        "words": len(pairs),
        "XPOS": sum(a[1] == b[1] for a, b in pairs),
        "UPOS": sum(a[2] == b[2] for a, b in pairs),
        "UFeats": sum(universal(a[3]) == universal(b[3]) for a, b in pairs),
        "lemmas": sum(a[4] in ("_", b[4]) for a, b in pairs),
    }
    total = len(ours.words) + len(theirs.words)
    scores = {name: 200 * n / total for name, n in right.items()}
    n_sentences = len(ours.sentences) + len(theirs.sentences)
    scores["sentences"] = 200 * len(ours.sentences & theirs.sentences) / n_sentences
    return scores
