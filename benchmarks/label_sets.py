"""The same corpus with fewer or more labels: rare tags fall together, or tags are split by the ends of words."""

from collections import Counter
from pathlib import Path
from typing import Callable, List, Tuple

from spacy.tokens import Doc, DocBin

from .corpora import Sentence, read_sentences, vocabulary

END = 3  # characters
REST = "REST"

Pair = Tuple[str, str]  # tag, end of the word


def relabelled(source: Path, output: Path, n_labels: int, sentences: int) -> None:
    """Write train and dev.spacy with at most `n_labels` labels. sentences: of the training part, from its beginning."""
    parts = {name: read_sentences(source / f"{name}.spacy") for name in ("train", "dev")}
    label_of = labels_for([pair for sentence in parts["train"][:sentences] for pair in pairs_of(sentence)], n_labels)
    output.mkdir(parents=True, exist_ok=True)
    for name, found in parts.items():
        changed = [
            Doc(vocabulary(), words=sentence.words, tags=[label_of(pair) for pair in pairs_of(sentence)])
            for sentence in found[: sentences if name == "train" else sentences // 10]
        ]
        DocBin(docs=changed).to_disk(output / f"{name}.spacy")


def pairs_of(sentence: Sentence) -> List[Pair]:
    return [(tag, word.lower()[-END:]) for word, tag in zip(sentence.words, sentence.tags, strict=True)]


def labels_for(pairs: List[Pair], n_labels: int) -> Callable[[Pair], str]:
    """Frequent tags as they are and one for the rest; or all tags, and the most frequent pairs of tag and end."""
    tags = [tag for tag, _ in Counter(tag for tag, _ in pairs).most_common()]
    if n_labels <= len(tags):
        kept = set(tags[: n_labels - 1] if n_labels < len(tags) else tags)
        return lambda pair: pair[0] if pair[0] in kept else REST
    split = {pair for pair, _ in Counter(pairs).most_common(n_labels - len(tags))}
    return lambda pair: f"{pair[0]}|{pair[1]}" if pair in split else pair[0]
