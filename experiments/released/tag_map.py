"""The part of speech that each tag has most often, for spaCy's attribute ruler.

python experiments/released/tag_map.py TRAIN.spacy OUTPUT.json
"""

from collections import Counter, defaultdict
from pathlib import Path

import srsly
import typer
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from wasabi import msg


def main(train: Path, output: Path) -> None:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for doc in DocBin().from_disk(train).get_docs(Vocab()):
        for token in doc:
            if token.tag and token.pos:
                counts[token.tag_][token.pos_] += 1
    # of parts of speech that are as frequent, the first in the alphabet
    most = {
        tag: min(of_tag, key=lambda pos: (-of_tag[pos], pos))
        for tag, of_tag in sorted(counts.items())
    }
    right = sum(counts[tag][pos] for tag, pos in most.items()) / max(
        1, sum(sum(c.values()) for c in counts.values())
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    pairs = sorted([*most.items(), ("_SP", "SPACE")])
    srsly.write_json(output, {tag: {"POS": pos} for tag, pos in pairs})
    msg.good(f"{output}: {len(most)} tags say {right:.2%} of parts of speech")


if __name__ == "__main__":
    typer.run(main)
