"""A treebank of sentences made up for the tests."""

import itertools

SUBJECTS = [("dog", "dog", "NOUN", "NN", "Number=Sing")]
SUBJECTS += [("ponies", "pony", "NOUN", "NNS", "Number=Plur")]
VERBS = "sees see VERB VB Number=Sing|runs run VERB VB Number=Sing|slept sleep VERB VB Tense=Past"
VERBS = [tuple(verb.split()) for verb in f"{VERBS}|went go VERB VB Tense=Past".split("|")]
ADVERBS = ["today", "here", "again", "there"]


def sentences():
    """Rows of word, lemma, part of speech, tag, features."""
    for noun, verb, adverb in itertools.product(SUBJECTS, VERBS, ADVERBS):
        the, stop = ("The", "the", "DET", "DT", "Definite=Def"), (".", ".", "PUNCT", ".", "_")
        yield [the, noun, verb, (adverb, adverb, "ADV", "RB", "_"), stop]


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
    (folder / "README.md").write_text(README, "utf8")
    for first, (part, n) in enumerate({"train": train, "dev": dev, "test": test}.items()):
        if n:
            text = conllu(first, n, **settings)
            (folder / f"en_tiny-ud-{part}.conllu").write_text(text, "utf8")
    return folder
