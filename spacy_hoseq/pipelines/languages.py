"""Languages of the pipelines that spaCy does not have."""

from spacy.language import Language


class Welsh(Language):
    """`spacy.blank("cy")`: words by the rules that spaCy has for all languages."""

    lang = "cy"
