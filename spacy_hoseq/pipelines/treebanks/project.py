"""The steps of `hoseq treebank` as a spaCy project, so that each can be changed."""

PROJECT = """title: "A pipeline from a treebank"
description: >
  Change what configs/ has, then run the steps again. `python -m spacy hoseq treebank` with the same arguments does what
  is not done yet: remove training/NAME/done to train again.

vars:
  parts: "--paths.train corpus/train.spacy --paths.dev corpus/dev.spacy"

workflows:
  all: [words, sentences, treebank]

commands:
  - name: words
    help: "Words and sentences of raw text, for the tokenizer"
    script:
      - "python -m spacy train configs/words.cfg --output training/words ${{{{vars.parts}}}}"
      - "python -c \\"open('training/words/done', 'w')\\""
    deps: ["configs/words.cfg", "corpus/train.spacy", "corpus/dev.spacy"]
    outputs: ["training/words/model-best"]

  - name: sentences
    help: "Where sentences begin, from raw text"
    script:
      - "python -m spacy train configs/sentences.cfg --output training/sentences ${{{{vars.parts}}}}"
      - "python -c \\"open('training/sentences/done', 'w')\\""
    deps: ["configs/sentences.cfg", "corpus/train.spacy", "corpus/dev.spacy"]
    outputs: ["training/sentences/model-best"]

  - name: treebank
    help: "Tags, parts of speech, features and lemmas"
    script:
      - "python -m spacy train configs/treebank.cfg --output training/treebank ${{{{vars.parts}}}}"
      - "python -c \\"open('training/treebank/done', 'w')\\""
    deps: ["configs/treebank.cfg", "corpus/train.spacy", "corpus/dev.spacy"]
    outputs: ["training/treebank/model-best"]
# The pipeline of both is ../{output}.
"""
