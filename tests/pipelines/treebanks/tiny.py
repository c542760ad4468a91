"""A treebank of sentences made up for the tests."""

import itertools

SUBJECTS = [
    ("The", "the", "DET", "dog", "dog", "Sing"),
    ("The", "the", "DET", "ponies", "pony", "Plur"),
]
VERBS = [
    ("sees", "see", "Sing"),
    ("runs", "run", "Sing"),
    ("slept", "sleep", "Past"),
    ("went", "go", "Past"),
]
ADVERBS = ["today", "here", "again", "there"]


def sentences():
    """Rows of word, lemma, part of speech, tag, features."""
    for (the, lemma, det, noun, of_noun, number), (
        verb,
        of_verb,
        tense,
    ), adverb in itertools.product(SUBJECTS, VERBS, ADVERBS):
        yield [
            (the, lemma, det, "DT", "Definite=Def"),
            (noun, of_noun, "NOUN", "NNS" if number == "Plur" else "NN", f"Number={number}"),
            (
                verb,
                of_verb,
                "VERB",
                "VB",
                f"Tense={tense}" if tense == "Past" else f"Number={tense}",
            ),
            (adverb, adverb, "ADV", "RB", "_"),
            (".", ".", "PUNCT", ".", "_"),
        ]


def conllu(first=0, n=1000, columns=(1, 2, 3, 4)):
    """Some of the sentences, over and over. columns: which of lemma, part of speech, tag, features are filled."""
    lines = []
    for rows in itertools.islice(itertools.cycle(list(sentences())), first, first + n):
        lines.append("# text = " + " ".join(row[0] for row in rows))
        for i, row in enumerate(rows, start=1):
            fields = [row[k] if k in columns else "_" for k in (1, 2, 3, 4)]
            head, relation = ("0", "root") if i == 3 else ("3", "dep")
            space = "SpaceAfter=No" if i == 4 else "_"
            lines.append("\t".join([str(i), row[0], *fields, head, relation, "_", space]))
        lines.append("")
    return "\n".join(lines) + "\n"


README = """# Made up

=== Machine-readable metadata ===
License: CC0 1.0
Contributors: Nobody, In Particular
"""


def write(folder, train=200, dev=100, test=100, **settings):
    """A folder as treebanks are published; a part of 0 sentences is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(README, encoding="utf8")
    for first, (part, n) in enumerate({"train": train, "dev": dev, "test": test}.items()):
        if n:
            text = conllu(first, n, **settings)
            (folder / f"en_tiny-ud-{part}.conllu").write_text(text, encoding="utf8")
    return folder
