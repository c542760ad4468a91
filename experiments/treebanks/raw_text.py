"""Pipelines of treebanks from raw text and from gold words: ours, UDPipe 1, and spaCy trained on the same text.

    python raw_text.py divide FOLDER OUTPUT             OUTPUT/train.conllu, dev.conllu, test.conllu
    python raw_text.py udpipe PARTS MODEL SECONDS.json  tokenizer and tagger, default options of its trainer
    python raw_text.py measure PARTS WHO MODEL ROWS.json SECONDS.json
    python raw_text.py page PAGE.md ROWS.json ...

The dev part of a treebank is the test here, and used for nothing else; every tenth group of ten sentences of its
training part is `dev`, which chooses the best epoch. Without a dev part the ninth groups are the test. Scores are those
of the CoNLL 2018 shared task (Zeman et al. 2018, section 5): words are aligned by their characters, those of a
multi-word token by the longest common subsequence of their forms. Needs ufal.udpipe 1.4.0.1.
"""

import gzip
import time
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Set, Tuple

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import MarkdownRenderer

from spacy_hoseq.treebanks.multiword import words_of
from spacy_hoseq.treebanks.parts import docs_of
from spacy_hoseq.treebanks.source import Treebank

app = typer.Typer()
SENTENCES = 10  # of a group


def blocks(folder: Path, part: str) -> List[str]:
    """Sentences of a part, as their lines."""
    files = sorted([*folder.glob(f"*{part}.conllu"), *folder.glob(f"*{part}.conllu.gz")])
    found: List[str] = []
    for file in files:
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf8")
        found += [block.strip("\n") for block in text.replace("\r\n", "\n").split("\n\n") if block.strip()]
    return found


@app.command()
def divide(folder: Path, output: Path) -> None:
    train, test = blocks(folder, "train"), blocks(folder, "dev")
    parts: Dict[str, List[str]] = {"train": [], "dev": [], "test": test}
    places = {9: "dev"} if test else {8: "test", 9: "dev"}
    for i, block in enumerate(train):
        parts[places.get(i // SENTENCES % SENTENCES, "train")].append(block)
    output.mkdir(parents=True, exist_ok=True)
    for part, sentences in parts.items():
        (output / f"{part}.conllu").write_text("\n\n".join(sentences) + "\n\n", encoding="utf8")
        print(part, len(sentences))


@app.command()
def udpipe(parts: Path, model: Path, seconds: Path, epochs: int = 100) -> None:
    """epochs: of its tokenizer; 100 is its default."""
    from ufal import udpipe as peer

    start = time.process_time()
    read = []
    for part in ("train", "dev"):
        reader, sentences, sentence = peer.InputFormat.newConlluInputFormat(), peer.Sentences(), peer.Sentence()
        reader.setText((parts / f"{part}.conllu").read_text(encoding="utf8"))
        while reader.nextSentence(sentence, peer.ProcessingError()):
            sentences.push_back(sentence)
            sentence = peer.Sentence()
        read.append(sentences)
    problem = peer.ProcessingError()
    default, none = peer.Trainer.DEFAULT, peer.Trainer.NONE
    data = peer.Trainer.train("morphodita_parsito", *read, f"epochs={epochs}", default, none, problem)
    if problem.occurred():
        raise RuntimeError(problem.message)
    model.parent.mkdir(parents=True, exist_ok=True)
    model.write_bytes(data)
    srsly.write_json(seconds, {"seconds": time.process_time() - start})

UNIVERSAL = frozenset(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood Tense Aspect "
    "Voice Evident Polarity Person Polite".split()
)
COLUMNS = ("words", "sentences", "UPOS", "XPOS", "UFeats", "lemmas")


class Token(NamedTuple):
    """text: as written. words: rows of form, tag, part of speech, features, lemma; several of a multi-word token."""

    text: str
    words: List[List[str]]


Sentences = List[List[Token]]


def sentences_of(text: str) -> Sentences:
    """Those of CoNLL-U."""
    found: Sentences = []
    for block in text.split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
        tokens: List[Token] = []
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

    words: List[Tuple[int, int, bool, List[str]]]
    sentences: Set[Tuple[int, int]]
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


def aligned(gold: Placed, found: Placed) -> List[Tuple[List[str], List[str]]]:
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


def common(gold: List[List[str]], found: List[List[str]]) -> List[Tuple[List[str], List[str]]]:
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


def universal(features: str) -> List[str]:
    return sorted(each for each in features.split("|") if each.split("=")[0] in UNIVERSAL)


def score(gold: Sentences, found: Sentences) -> Dict[str, float]:
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


def texts_of(treebank: Path, part: str, name: str = "") -> List[Doc]:
    """Ten sentences each, as `hoseq treebank` reads them."""
    return list(docs_of(Treebank(name, "xx", {part: [treebank / f"{part}.conllu"]}, "", ""), part))


def of_docs(docs: Iterable[Doc]) -> Sentences:
    """Words of Docs; of multi-word tokens those that the pipeline knows."""
    found: Sentences = []
    for doc in docs:
        for sentence in doc.sents:
            tokens = [token for token in sentence if not token.is_space]
            found.append([Token(token.text, [list(each) for each in words_of(token)]) for token in tokens])
    return found


def by_udpipe(model: Any, texts: List[str], given: Path) -> Tuple[Sentences, Sentences, float]:
    from ufal import udpipe as peer

    problem = peer.ProcessingError()
    pipeline = peer.Pipeline(model, "tokenize", peer.Pipeline.DEFAULT, peer.Pipeline.NONE, "conllu")
    start = time.process_time()
    raw = [sentence for text in texts for sentence in sentences_of(pipeline.process(text, problem))]
    seconds = time.process_time() - start
    pipeline = peer.Pipeline(model, "conllu", peer.Pipeline.DEFAULT, peer.Pipeline.NONE, "conllu")
    return raw, sentences_of(pipeline.process(given.read_text(encoding="utf8"), problem)), seconds


def by_spacy(nlp: Language, texts: List[str], gold: List[Doc]) -> Tuple[Sentences, Sentences, float]:
    list(nlp.pipe(["Nothing of it was known before ."] * 20))
    start = time.process_time()
    docs = list(nlp.pipe(texts))
    seconds = time.process_time() - start
    given = []
    for doc in gold:
        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        starts: Any = [bool(token.is_sent_start) for token in doc]
        given.append(Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts))
    return of_docs(docs), of_docs(nlp.pipe(given)), seconds


@app.command()
def measure(parts: Path, who: str, model: Path, output: Path, seconds: Path, part: str = "test") -> None:
    """Rows for raw text and for gold words, where our tokens that are several words have those that we know."""
    gold = sentences_of((parts / f"{part}.conllu").read_text(encoding="utf8"))
    docs = texts_of(parts, part)
    texts = [doc.text for doc in docs]
    if who == "UDPipe 1":
        from ufal import udpipe as peer

        raw, given, time_taken = by_udpipe(peer.Model.load(str(model)), texts, parts / f"{part}.conllu")
        size = model.stat().st_size
    else:
        raw, given, time_taken = by_spacy(spacy.load(model), texts, docs)
        size = sum(file.stat().st_size for file in model.rglob("*") if file.is_file())
    n_words = sum(len(token.words) for tokens in gold for token in tokens)
    costs = {
        "training, s": srsly.read_json(seconds)["seconds"] if seconds.exists() else None,
        "words/s": n_words / time_taken,
        "MB": size / 1e6,
    }
    row = {"treebank": parts.name, "who": who, "raw": score(gold, raw), "gold": score(gold, given), **costs}
    srsly.write_json(output, row)
    for name in ("raw", "gold"):
        print(parts.name, who, name, " ".join(f"{column} {row[name][column]:.2f}" for column in COLUMNS))
    print({name: round(value, 1) for name, value in costs.items() if value is not None})


BEGIN, END = "<!-- begin treebanks -->", "<!-- end treebanks -->"


@app.command()
def page(output: Path, measured: List[Path]) -> None:
    """A table of what was measured, between the marks of a page."""
    rows = [srsly.read_json(path) for path in measured]
    costs = ("training, s", "words/s", "MB")
    header = ["treebank", "who", "text", *COLUMNS, *costs]
    shown = []
    for row in sorted(rows, key=lambda row: (row["treebank"], row["who"] != "ours", row["who"])):
        for text in ("raw", "gold"):
            scores = [f"{row[text][column]:.2f}" for column in COLUMNS]
            of_row = ["" if row[cost] is None or text == "gold" else f"{row[cost]:,.1f}" for cost in costs]
            shown.append([row["treebank"], row["who"], text, *scores, *of_row])
    table = MarkdownRenderer().table(shown, header, aligns=("l", "l", "l", *"r" * (len(header) - 3)))
    before, _, rest = output.read_text(encoding="utf8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{output}: there are no marks {BEGIN}, {END}")
    output.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf8")


if __name__ == "__main__":
    app()
