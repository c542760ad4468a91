"""What wins on words of training and on others: patterns that give way to the letters, shorter ones, and those of a
larger lexicon (beside Qian & Liu, Table 1), on handwritten letters.

    python new_words.py METRICS.jsonl --data letter.data.gz --treebank train.conllu.gz [--folds 0] [--systems ...]

The i-th fold is trained on without the i-th part of the different words; the other folds test those words (`unseen`)
and all others (`seen`). After training the weights of all patterns are multiplied by each of some shares: 1 is the
model as it was learnt, 0 leaves the letters and pairs alone. The lexicon has the frequent words of a treebank without
their first letter, as the words of the data are; `lexicon, no test words` lacks those that are tested.
"""

import gzip
import sys
from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_config
from wasabi import msg

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import Potentials, Weights

OCR = Path(__file__).parents[1] / "ocr"
sys.path.append(str(OCR))

from folds import OBJECTIVES, fit, word_of  # noqa: E402
from handwriting import letter_corpus, read_letters  # noqa: E402

TAGGER = "hoseq_tagger"
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
SYSTEMS = (
    "order 1",
    "order 3",
    "order 7",
    "lexicon",
    "lexicon, no test words",
    "order 7 and lexicon",
)


def main(
    output: Path,
    data: Annotated[Path, typer.Option(help="letter.data, plain or gzipped")],
    treebank: Annotated[Path, typer.Option(help="CoNLL-U, gzipped: words of the lexicon")],
    folds: Annotated[str, typer.Option(help="to train on")] = "0",
    systems: Annotated[str, typer.Option(help="separated by ;")] = ";".join(SYSTEMS),
    objective: Annotated[str, typer.Option(help="perceptron, crf or max_margin")] = "perceptron",
    iterations: int = 50,
    words: Annotated[int, typer.Option(help="of the lexicon")] = 1000,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    letters = list(read_letters(data))
    vocabulary = sorted({"".join(name for _, name in word) for word, _ in letters})
    all_folds = sorted({fold for _, fold in letters})
    known = frequent_words(treebank)
    for fold in map(int, folds.split(",")):
        unseen = set(vocabulary[all_folds.index(fold) :: len(all_folds)])
        for system in systems.split(";"):
            key = {
                "fold": fold,
                "system": system,
                "objective": objective,
                "iterations": iterations,
                "words": words,
            }
            if any(key.items() <= row.items() for row in rows):
                continue
            lexicon = output.with_name("lexicon.txt")
            chosen = [
                word for word in known if "no test words" not in system or word not in unseen
            ][:words]
            lexicon.write_text("\n".join(chosen), encoding="utf8")
            settings = settings_of(data, system, objective, iterations, lexicon)
            measured = accuracies(
                settings, data, fold, [other for other in all_folds if other != fold], unseen
            )
            rows.append({**key, "unseen_in_lexicon": len(unseen & set(chosen)), **measured})
            srsly.write_jsonl(output, rows)
            msg.text(f"{key}: {rows[-1]['seen']}, {rows[-1]['unseen']}")


def frequent_words(treebank: Path) -> list[str]:
    """Lower-case words of letters alone, without the first one, the frequent ones first."""
    counts: Counter[str] = Counter()
    for line in gzip.decompress(treebank.read_bytes()).decode("utf8").split("\n"):
        fields = line.split("\t")
        if fields[0].isdigit() and fields[1].isascii() and fields[1].isalpha():
            counts[fields[1].lower()[1:]] += 1
    return [word for word, _ in counts.most_common() if len(word) > 2]


def settings_of(
    data: Path, system: str, objective: str, iterations: int, lexicon: Path
) -> dict[str, Any]:
    settings = load_config(OCR / "configs" / "ocr.cfg", overrides={"paths.letters": str(data)})
    settings["training"]["max_epochs"] = iterations
    if objective == "perceptron":
        settings["training"]["dropout"] = 0.0
    settings["components"][TAGGER].update(OBJECTIVES[objective])
    sources: dict[str, dict[str, Any]] = {}
    if "order" in system and system != "order 1":
        order = int(system.split()[1])
        sources["frequent"] = {
            "@misc": "spacy_hoseq.frequent_transitions.v1",
            "max_order": order,
            "min_count": 11,
        }
    if "lexicon" in system:
        sources["lexicon"] = {"@misc": "spacy_hoseq.lexicon_transitions.v1", "path": str(lexicon)}
    patterns = {"@misc": "spacy_hoseq.pattern_sources.v1", "*": sources}
    settings["components"][TAGGER]["model"]["patterns"] = patterns if sources else None
    return settings


def accuracies(
    settings: dict[str, Any], data: Path, fold: int, rest: list[int], unseen: Set[str]
) -> dict[str, Any]:
    """Letters right among words of training, and among others, for each share of the patterns' weights."""
    fix_random_seed(settings["system"]["seed"])
    nlp = spacy.util.load_model_from_config(settings, auto_fill=True)
    train = [
        example for example in letter_corpus(data, [fold])(nlp) if word_of(example) not in unseen
    ]
    seconds = fit(nlp, train, settings)
    test = list(letter_corpus(data, rest)(nlp))
    result: dict[str, Any] = {"shares": list(SHARES), "seconds_per_iteration": seconds}
    for name, new in (("seen", False), ("unseen", True)):
        some = [example for example in test if (word_of(example) in unseen) == new]
        result[name] = list(over_shares(nlp, some))
    return result


def over_shares(nlp: Language, examples: list[Example]) -> Iterator[float]:
    component: Any = nlp.get_pipe(TAGGER)
    names = np.array(component.labels)
    gold = np.array([token.tag_ for example in examples for token in example.reference])
    potentials = component.model.predict(
        [Doc(nlp.vocab, [t.text for t in eg.reference]) for eg in examples]
    )
    for share in SHARES:
        labels = decode_exact(shrunk(potentials, share)).labels
        yield float((names[labels] == gold).mean())


def shrunk(potentials: Potentials, share: float) -> Potentials:
    """With the weights of all patterns that fire everywhere multiplied by `share`."""
    weights = potentials.weights
    if not weights.has_patterns:
        return potentials
    return potentials._replace(
        weights=Weights(weights.trans, weights.trie, share * weights.node_weights)
    )


if __name__ == "__main__":
    typer.run(main)
