"""Classes of English words, from two packages with open licences, for `spacy_hoseq.word_classes.v1`.

    python word_classes.py OUTPUT.tsv [--lower]

Four columns: the word cluster (Brown clusters of web text, `lexeme_cluster` of spacy-lookups-data, MIT), its coarser
classes by the first 6 and 10 steps of its path, and the tags that the word can have by the SPECIALIST lexicon of the
U.S. National Library of Medicine (as in lemminflect, MIT). With `--lower` a name has its classes in
lower case, too, where no other word has some there: people write without capitals.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import srsly
import typer

N_CLUSTERED = 40_000  # the most frequent words: clusters of rare ones are noise
BASE = {"noun": "NN", "adj": "JJ", "adv": "RB", "verb": "VB", "aux": "MD"}
FORMS = {
    "noun": ["NNS"],
    "adj": ["JJR", "JJS"],
    "adv": ["RBR", "RBS"],
    "verb": ["VBD", "VBN", "VBG", "VBZ"],
}


def main(output: Path, lower: bool = False) -> None:
    clusters, lexicon = read_clusters(), read_lexicon()
    for name in sorted({*clusters, *lexicon}) if lower else ():
        clusters.setdefault(name.lower(), clusters.get(name, 0))
        lexicon.setdefault(name.lower(), lexicon.get(name, set()))
    lines = []
    for word in sorted({*clusters, *lexicon}):
        path = clusters.get(word, 0)
        coarse = [str(path & ((1 << steps) - 1)) if path else "" for steps in (6, 10)]
        lines.append(
            "\t".join([word, str(path or ""), *coarse, "|".join(sorted(lexicon.get(word, ())))])
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines) + "\n", encoding="utf8")
    print(f"{output}: {len(clusters):,} words with a cluster, {len(lexicon):,} in the lexicon")


def read_clusters() -> dict[str, int]:
    """Path in the tree of clusters of the most frequent words: its first step is the lowest bit."""
    folder = files("spacy_lookups_data") / "data"
    path_of, log_p = (
        srsly.json_loads(
            gzip.decompress((folder / f"en_lexeme_{name}.json.gz").read_bytes()).decode("utf8")
        )
        for name in ("cluster", "prob")
    )
    clustered = [word for word, path in path_of.items() if path and word.strip()]
    frequent = sorted(clustered, key=lambda word: (-log_p.get(word, -99.0), word))[:N_CLUSTERED]
    return {word: path_of[word] for word in frequent}


def read_lexicon() -> dict[str, set[str]]:
    """Tags of each form: of the base forms, and of the inflected ones."""
    tags: dict[str, set[str]] = defaultdict(set)
    for base, category, *forms in rows("infl_lu.csv.gz"):
        tags[base].add(BASE[category])
        if category == "verb" and len(forms) > 1 and not forms[1]:
            forms[1] = forms[0]  # the participle is as the past
        for tag, spellings in zip(FORMS[category], forms, strict=False):
            for form in filter(None, spellings.split("/")):
                tags[form].add(tag)
    for form, category, base in rows("lemma_lu.csv.gz"):
        if form in base.split("/"):
            tags[form].add(BASE[category])
    return tags


def rows(name: str) -> Iterator[list[str]]:
    spec = find_spec("lemminflect")  # (only its files are read: nothing of it runs)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("lemminflect")
    data = (Path(spec.origin).parent / "resources" / name).read_bytes()
    for line in gzip.decompress(data).decode("utf8").splitlines():
        yield line.split(",")


if __name__ == "__main__":
    typer.run(main)
