"""Some words of each class, by which `hoseq explain` says what a class is: "is like says, adds, writes".

    python experiments/released/class_words.py PIPELINE CORPUS.conllu...

Adds the table `hoseq_class_words` to the vocabulary of a saved pipeline: of each class that has a number for its name,
the three words that are the most frequent in the corpora and stand there five times or more.
"""

from collections import Counter, defaultdict
from pathlib import Path

import typer
from spacy.lookups import Lookups
from spacy.vocab import Vocab

from spacy_hoseq.features.word_classes import CLASS_WORDS_TABLE, WORD_CLASSES_TABLE, word_class
from spacy_hoseq.readers.formats.conllu import read_conllu
from spacy_hoseq.readers.settings import Settings


def main(pipeline: Path, corpora: list[Path]) -> None:
    lookups = Lookups().from_disk(pipeline / "vocab")
    vocab = Vocab(lookups=lookups)
    counts: Counter[str] = Counter()
    for corpus in corpora:
        for sentence in read_conllu(corpus, Settings()):
            counts.update(filter(str.isalpha, sentence.words))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    words = [word for word in words if counts[word] >= 5]
    lexemes = [vocab[word] for word in words]
    table: dict[str, dict[str, list[str]]] = {}
    for number in range(1, len(lookups.get_table(WORD_CLASSES_TABLE)["columns"]) + 1):
        first: dict[str, list[str]] = defaultdict(list)
        for word, name in zip(words, word_class(number, lexemes), strict=True):
            known = {other.lower() for other in first[name]}
            if name.isdecimal() and len(known) < 3 and word.lower() not in known:
                first[name].append(word)
        table[f"word_class{number}"] = {name: first[name] for name in sorted(first) if first[name]}
    if lookups.has_table(CLASS_WORDS_TABLE):
        lookups.remove_table(CLASS_WORDS_TABLE)
    lookups.add_table(CLASS_WORDS_TABLE, table)
    lookups.to_disk(pipeline / "vocab")
    print(f"{pipeline}: words of {sum(map(len, table.values())):,} classes")


if __name__ == "__main__":
    typer.run(main)
