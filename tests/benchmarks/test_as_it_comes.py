"""The text as it comes in assets/, and how a pipeline is measured on it."""

import pytest
import spacy


@pytest.fixture
def module(benchmarks):
    return benchmarks("as_it_comes")


@pytest.mark.parametrize("name, sizes", [("as it comes", (8, 71, 481)), ("web", (12, 88, 926))])
def test_files(module, name, sizes):
    """Words spell the text of each sentence, and every kind is there."""
    blocks = module.FILES[name].read_text(encoding="utf8").strip().split("\n\n")
    texts = module.texts_of(module.FILES[name])
    n_sentences = sum(len(text.sentences) for text in texts)
    assert (len(texts), n_sentences, sum(len(text.tags) for text in texts)) == sizes and len(blocks) == n_sentences
    said = [line.partition(" = ")[2] for block in blocks for line in block.split("\n") if line.startswith("# text")]
    found = [text.raw[start:end] for text in texts for start, end in sorted(text.sentences)]
    assert found == said
    assert all(tag.strip() == tag != "" for text in texts for tag in text.tags.values())


def test_who_knows_all_is_right(module):
    """And one that cuts at spaces alone, with one tag for all, is not."""
    tags = {(0, 2): "A", (3, 8): "B", (8, 9): ".", (10, 12): "C", (12, 13): "."}
    text = module.Text("x", "It works.\nSo?", tags, {(0, 9), (10, 13)})
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    ruler = nlp.add_pipe("attribute_ruler")
    for word, tag in (("It", "A"), ("works", "B"), ("So", "C"), (".", "."), ("?", ".")):
        ruler.add([[{"ORTH": word}]], {"TAG": tag})
    assert module.counted(nlp, text) == ((5, 5, 5), (2, 2, 2), (5, 5, 5), (5, 5))
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)
    counts = module.counted(nlp, text)
    assert counts == ((1, 3, 5), (0, 1, 2), (1, 3, 5), (5, 5))
    assert module.row("x", "all", module.summed([counts, counts]))[2:] == ["10", "25.0", "0.0", "25.0", "100.0"]
