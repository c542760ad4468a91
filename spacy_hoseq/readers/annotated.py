"""Training data whose predicted docs keep some of the gold annotation: tags that are given, not to be found."""

from pathlib import Path
from typing import Callable, Iterator, List, Optional, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..errors import Errors


def annotated_corpus(
    path: Optional[Union[str, Path]],
    attributes: List[str],
    gold_preproc: bool = False,
    max_length: int = 0,
    limit: int = 0,
) -> Callable[[Language], Iterator[Example]]:
    """As `spacy.Corpus.v1`, with `attributes` of the reference copied to the predicted docs.

    path: a .spacy file or a folder of them. attributes: token attributes that pipelines may rely on, such as "tag";
        tokens of both docs must be the same where there are any (`gold_preproc`, or texts tokenized by this pipeline).
    RAISES ValueError [HS072]: no path, or an attribute that cannot be copied; [HS073]: other tokens.
    """
    known = ("tag", "pos", "lemma", "ent_iob", "ent_type")
    if path is None or not set(attributes) <= set(known):
        raise ValueError(Errors.HS072.format(path=path, attributes=attributes, known=", ".join(known)))
    names = [name.upper() for name in attributes]
    corpus = Corpus(path, gold_preproc=gold_preproc, max_length=max_length, limit=limit)

    def read(nlp: Language) -> Iterator[Example]:
        for example in corpus(nlp):
            yield Example(copy_annotation(example, names), example.reference)

    return read


def copy_annotation(example: Example, names: List[str]) -> Doc:
    predicted, reference = example.predicted, example.reference
    if [token.orth for token in predicted] != [token.orth for token in reference]:
        raise ValueError(Errors.HS073.format(text=reference.text[:60]))
    values = reference.to_array(names)  # type: ignore[arg-type]
    return predicted.from_array(names, values)  # type: ignore[arg-type]
