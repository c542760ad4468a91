"""`python -m spacy hoseq convert`: what is written, counted, refused and listed, and the exit status."""

import errno
import gzip
import json
from pathlib import Path

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_hoseq.cli.convert import parse_groups
from spacy_hoseq.cli.shared import PROBLEMS_SHOWN

from ..repository import hoseq

TREE = "( (S (NP-SBJ (PRP {}) ) (VP (VBZ naps) (NP (-NONE- *))) (. .) ))\n"


def run(source, output, *options):
    return hoseq("convert", source, "-o", output, *options)


def docs_of(path):
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def labelled(spans):
    return [(span.text, span.label_) for span in spans]


def texts(path):
    return [" ".join(f"{token.text}/{token.tag_}" for token in doc) for doc in docs_of(path)]


def write(folder, files, encoding="utf-8"):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = text.encode(encoding)
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


@pytest.fixture
def wsj(tmp_path):
    names = {f"{section:02}/wsj_{section:02}{number:02}.mrg": TREE.format(f"w{section}.{number}") * 2
             for section in (0, 18, 19, 22) for number in (1, 2, 10)}  # fmt: skip
    return write(tmp_path / "wsj", names)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new" / "out.spacy"


def test_trees(wsj, out):
    code, output = run(wsj, out, "-f", "trees")
    first, second = (f"{wsj}/00/wsj_000{i}.mrg: " for i in (1, 2))
    assert code == 0 and output.startswith(f"ℹ {first}trees in brackets ℹ {second}")
    assert output.endswith(
        "Files 12 Docs 12 Sentences 24 Tokens 72 Chunks 48 Traces dropped 24 Problems 0 "
        "Tags: PRP 24, VBZ 24, . 24 Chunks: NP 24, VP 24 First sentence: [w0.1/PRP NP] [naps/VBZ VP] ./. "
        f"✔ {out} Next: python -m spacy hoseq init tagger -o tagger.cfg"
    )
    docs = docs_of(out)
    first = [doc[0].text for doc in docs]
    assert first == [f"w{section}.{number}" for section in (0, 18, 19, 22) for number in (1, 2, 10)]
    doc = docs[0]
    assert [token.tag_ for token in doc] == ["PRP", "VBZ", "."] * 2 and doc.has_unknown_spaces
    assert [token.is_sent_start for token in doc] == [True, False, False] * 2
    chunks = [(span.text, span.label_) for span in doc.spans["chunks"]]
    assert chunks == [("w0.1", "NP"), ("naps", "VP")] * 2 and not doc.has_annotation("ENT_IOB")


@pytest.mark.parametrize("n, sizes", [(1, [3] * 5), (2, [6, 6, 3]), (10, [15]), (0, [15])])
def test_sentences_in_docs(tmp_path, out, n, sizes):
    write(tmp_path, {"a.mrg": TREE.format("it") * 5})
    assert run(tmp_path / "a.mrg", out, "-f", "trees", "--n-sents", n)[0] == 0
    assert [len(doc) for doc in docs_of(out)] == sizes


def test_docs_do_not_cross_files(tmp_path, out):
    write(tmp_path, {"a.mrg": TREE.format("it"), "b.mrg.gz": TREE.format("he")})
    assert run(tmp_path, out, "-f", "trees")[0] == 0
    assert [doc[0].text for doc in docs_of(out)] == ["it", "he"]


@pytest.mark.parametrize("part, sections", [("train", (0, 18)), ("dev", (19,)), ("test", (22,))])
def test_splits(wsj, out, part, sections):
    code, output = run(wsj, out, "-f", "trees", "--split", "wsj-tagging", "--part", part)
    n_files = 3 * len(sections)
    assert code == 0
    assert " Files 12 " in output and f" read {n_files} " in output
    assert f" in no part asked for {12 - n_files} " in output and f" Docs {n_files} " in output
    expected = {f"w{section}" for section in sections}
    assert {doc[0].text.split(".")[0] for doc in docs_of(out)} == expected


def test_options_of_trees(tmp_path, out):
    write(tmp_path, {"a.x": "( (NP (-LRB- -LRB-) (CD 1\\/2)) )\n"})
    assert run(tmp_path, out, "-F", "-f", "trees", "--suffix", ".x")[0] == 0
    assert texts(out) == ["(/( 1/2/CD"] and list(docs_of(out)[0].spans) == ["chunks"]
    options = ("-f", "trees", "--suffix", ".x", "--no-unescape", "--no-chunks")
    assert run(tmp_path, out, "-F", *options)[0] == 0
    assert texts(out) == ["-LRB-/( 1\\/2/CD"] and not docs_of(out)[0].spans


def test_damaged_trees(wsj, out):
    """The others are converted; the file and the line are told; the exit status is 1."""
    files = {"18/wsj_1802.mrg": TREE.format("it") + "( (S (NN rain)\n", "19/wsj_1901.mrg": "( )\n"}
    damaged = write(wsj, files)
    (wsj / "22" / "wsj_2201.mrg").write_bytes(b"( (S (NN \xe9t\xe9)) )")
    code, output = run(damaged, out, "-f", "trees")
    counts = " Docs 10 Sentences 19 Tokens 57 Chunks 38 Traces dropped 19 Problems 3 "
    assert code == 1 and counts in output
    counts = "Files 12 read 9 not readable 2 wsj_1901.mrg, wsj_2201.mrg read in part 1"
    assert f"{counts} wsj_1802.mrg" in output
    for where, found in {
        "18/wsj_1802.mrg:2": "the end of the file the end of the tree that begins at line 2: 2 brackets open",
        "19/wsj_1901.mrg:1": "an empty tree () (TAG word), or (LABEL (...) ...)",
        "22/wsj_2201.mrg:1": "the byte 0xE9 text in utf-8",
    }.items():
        assert f"{wsj}/{where} {found}" in output
    assert output.endswith(f"⚠ Without what is listed above: {out}")
    first = ["w0.1", "w0.2", "w0.10", "w18.1", "it", "w18.10", "w19.2", "w19.10", "w22.2", "w22.10"]
    assert [doc[0].text for doc in docs_of(out)] == first


def test_nothing_good(tmp_path, out):
    write(tmp_path, {"a.mrg": "(", "b.mrg": "", "c.mrg": "(S (-NONE- *))"})
    code, output = run(tmp_path, out, "-f", "trees")
    assert code == 1 and not out.exists()
    assert "Sentences 0 Tokens 0 Traces dropped 1 Sentences of traces only 1 Problems 1" in output
    assert output.endswith("✘ There are no sentences; nothing is written")


def test_many_problems(tmp_path, out):
    write(tmp_path, {"a.txt": "good/A\n" + "bad\n" * 30, "b.txt": "bad\n"})
    code, output = run(tmp_path, out, "-f", "tagged")
    assert code == 1 and texts(out) == ["good/A"]
    assert "Problems 31 Tags: A 1 First sentence: good/A Where" in output
    assert f"a.txt:{PROBLEMS_SHOWN + 1} " in output and f"a.txt:{PROBLEMS_SHOWN + 2} " not in output
    more = f"and {31 - PROBLEMS_SHOWN} more. Problems by file: {tmp_path}/a.txt 30"
    assert f"{more} {tmp_path}/b.txt 1" in output


def test_tagged_text(tmp_path, out):
    write(tmp_path, {"a.txt": "it_PRP naps_VBZ\nyes_UH\n"})
    options = ("-f", "tagged", "--separator", "_", "--n-sents", 1)
    assert run(tmp_path / "a.txt", out, *options)[0] == 0
    assert texts(out) == ["it/PRP naps/VBZ", "yes/UH"]
    write(tmp_path, {"a.txt": "it/PRP\n"})
    assert run(tmp_path / "a.txt", out, "-F", "-f", "tagged")[0] == 0
    assert texts(out) == ["it/PRP"]


def test_peoples_daily(tmp_path, out):
    text = "19990101-01-001-001/m [小/a 书社/n]nt 在/p 北村/ns 。/w 好/a\n"
    path = write(tmp_path, {"a.txt": text}, "gb18030") / "a.txt"
    options = ("-f", "peoples-daily", "-l", "zh", "--n-sents", 1)
    code, output = run(path, out, "-F", *options)
    assert code == 0 and "Sentences 2 Tokens 6 Entities 1" in output
    assert texts(out) == ["小/a 书社/n 在/p 北村/ns 。/w", "好/a"]
    doc = docs_of(out)[0]
    assert doc.text == "小书社在北村。" and labelled(doc.ents) == [("小书社", "ORG")]
    options += ("--groups", "nt=A, ns=B", "--paragraphs", "-sk", "names")
    assert run(path, out, "-F", *options)[0] == 0
    (doc,) = docs_of(out)
    assert labelled(doc.spans["names"]) == [("小书社", "A"), ("北村", "B")]
    assert not doc.ents


def test_columns(tmp_path, out):
    path = write(tmp_path, {"a.tsv.gz": "PER\tB-X\tAnn\nV\tO\tnaps\n"}) / "a.tsv.gz"
    options = ("-f", "columns", "--word-column", 3, "--tag-column", 1)
    assert run(path, out, "-F", *options, "--entity-column", 0)[0] == 0
    assert texts(out) == ["Ann/PER naps/V"] and not docs_of(out)[0].has_annotation("ENT_IOB")
    options += ("--entity-column", 2, "--representation", "start_end")
    assert run(path, out, "-F", *options)[0] == 0
    assert labelled(docs_of(out)[0].ents) == [("Ann", "X")]


def test_characters(tmp_path, out):
    path = write(tmp_path, {"a.bmes": "小 B-X\n村 E-X\n。 O\n\n好 M-X\n"}, "gb18030") / "a.bmes"
    code, output = run(path, out, "-f", "characters", "--n-sents", 1)
    counts = "Entities 2 Entity tags mended 1 Problems 0 Entities: X 2"
    assert code == 0 and f"{counts} First sentence: [小 村 X] 。" in output
    assert output.endswith("Next: python -m spacy hoseq init entities --lang zh -o entities.cfg")
    assert [doc.text for doc in docs_of(out)] == ["小村。", "好"]
    assert [labelled(doc.ents) for doc in docs_of(out)] == [[("小村", "X")], [("好", "X")]]


@pytest.mark.parametrize(
    "options, message",
    [
        (("-f", "trees", "--split", "ctb5", "--part", "dev"), "[HS079] None of the 12 files"),
        (("-f", "trees", "--split", "ctb5"), "[HS161]"),
        (("-f", "trees", "--encoding", "klingon"), "[HS027]"),
        (("-f", "tagged"), "[HS074] Nothing to read"),
        (("-f", "tagged", "--separator", "a b"), "[HS027]"),
        (("-f", "columns", "--word-column", 0), "[HS027]"),
        (("-f", "columns", "--representation", "bmes"), "[HS161]"),
    ],
)
def test_wrong_settings(wsj, out, options, message):
    code, output = run(wsj, out, *options)
    assert code == 1 and f"✘ Nothing converted {message}" in output and not out.exists()


def test_wrong_names(wsj, out):
    code, output = run(wsj, out.with_suffix(".json"), "-f", "trees")
    assert code == 1 and "ending .spacy" in output
    code, output = run(wsj, out, "-f", "peoples-daily", "--groups", "nt")
    assert code == 2 and "tag=NAME" in output
    code, output = run(wsj, out, "-f", "bracketed")
    assert code == 1 and '[HS161] There is nothing named "bracketed" here' in output
    assert run(wsj / "nothing", out, "-f", "trees")[0] == 1
    assert parse_groups("nt=ORG,ns=LOC,") == {"nt": "ORG", "ns": "LOC"} and parse_groups("") == {}


@pytest.fixture
def earlier(tmp_path):
    """What an earlier run has written."""
    path = tmp_path / "there.spacy"
    path.write_bytes(b"of an earlier run")
    return path


def test_a_full_disk_leaves_what_was_there(wsj, earlier, out, monkeypatch):
    """Writing ends in the middle of the file."""

    def to_disk(self, path):
        Path(path).write_bytes(self.to_bytes()[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(DocBin, "to_disk", to_disk)
    for path, options in ((earlier, ["--force"]), (out, [])):
        code, output = run(wsj, path, "-f", "trees", *options)
        assert code == 1 and "✘ Nothing converted" in output and "No space left" in output
    assert earlier.read_bytes() == b"of an earlier run" and not out.exists()
    assert not list(earlier.parent.glob("*.part")) and not list(out.parent.iterdir())


ROWS = ("1\tAnn\t_\tPROPN\tNNP" + 5 * "\t_", "2\tsleeps\t_\tVERB\tVBZ" + 5 * "\t_", "", "")


@pytest.mark.parametrize("first", [["# sent_id = 1", "# text = Ann sleeps"], []])
def test_conllu_by_another_name(first, tmp_path, out):
    path = write(tmp_path, {"ud.tsv": "\n".join([*first, *ROWS])}) / "ud.tsv"
    code, output = run(path, out)
    assert code == 0 and output.startswith(f"ℹ {path}: CoNLL-U")
    assert texts(out) == ["Ann/NNP sleeps/VBZ"]
    code, output = run(path, out, "-F", "-f", "columns", "--word-column", 1)
    message = f"[HS085] {path} is no corpus as it is read: its words are 1, 2, 3"
    assert code == 1 and f"Nothing converted {message}" in output


@pytest.mark.parametrize("heads", ["0 0", "0 2", "2 1", "0 _"])
def test_heads_that_are_no_tree(tmp_path, out, heads):
    """They do not cut the sentence, nor take the heads of others away; they are counted."""
    rows = [f"{i}\t{word}\t_\tX\t_\t_\t{{}}\tdep\t_\t_" for i, word in enumerate("ab", 1)]
    sentences = ["\n".join(rows).format(*each.split()) for each in ("0 1", heads, "0 1")]
    code, output = run(write(tmp_path / "in", {"a.conllu": "\n\n".join(sentences)}), out)
    assert code == 0 and "Sentences 3 Tokens 6 Sentences without heads (no tree) 1" in output
    docs = docs_of(out)
    assert [token.is_sent_start for doc in docs for token in doc] == [True, False] * 3
    assert [doc.has_annotation("DEP") for doc in docs] == [True, False, True]
    assert [token.head.i for token in docs[2]] == [0, 0]


def test_a_folder_of_mixed_files(tmp_path, out):
    """Each is read by its first lines; what is none is told, not dropped without a word."""
    row = "1\tAnn\tAnn\tPROPN\tNNP\tNumber=Sing\t0\troot\t_\t_\n"
    files = {"a.mrg": TREE.format("it"), "b.txt.gz": "it/PRP naps/VBZ\n"}
    files |= {"c.conllu": row, "d.tsv": "boat\tNN\n"}
    others = {"g.txt": "Some words\nof a README, which is none.\n", "h.xyz": "x", ".hidden": "x"}
    others["not-to-release/c.conllu"] = row
    files |= {"e.bmes": "小 B-X\n村 E-X\n", "f.conll": "the DT\n"}
    folder = write(tmp_path / "in", {**files, **others})
    code, output = run(folder, out)
    assert code == 0 and " Files 10 read 6 hidden 2 .hidden, not-to-release " in output
    assert " of no known format 1 g.txt of other endings 1 h.xyz Docs 6 " in output
    assert f"⚠ Not read [HS085] {folder}/g.txt" in output
    assert f"ℹ {folder}/d.tsv: columns, column 1: words, column 2: tags" in output
    first = ["it/PRP naps/VBZ ./.", "it/PRP naps/VBZ", "Ann/NNP"]
    assert texts(out) == [*first, "boat/NN", "小/ 村/", "the/DT"]
    tree, _, ann, boat, village, _ = docs_of(out)
    assert [span.label_ for span in tree.spans["chunks"]] == ["NP", "VP"]
    assert not tree.has_annotation("DEP")
    first, expected = ann[0], ("Ann", "PROPN", "Number=Sing", "root")
    assert (first.lemma_, first.pos_, str(first.morph), first.dep_) == expected
    assert [ent.text for ent in village.ents] == ["小村"] and not boat.has_annotation("LEMMA")
    starts = [token.is_sent_start for token in tree]
    assert village.text == "小村" and starts == [True, False, False]
    code, output = run(folder / "g.txt", out, "--force")
    assert code == 1 and "HS085" in output and "--format" in output


def test_texts_with_offsets(tmp_path, out):
    """A Doc each, without sentences; a span on no borders of words is told, its words are unknown."""
    label = [[0, 3, "PER"]]
    rows = [{"text": text, "label": label} for text in ("Ann ran. It rained.", "Annie ran.")]
    path = write(tmp_path, {"a.jsonl": "\n".join(map(json.dumps, rows))}) / "a.jsonl"
    code, output = run(path, out)
    assert code == 1 and f'{path}:2 PER "Ann" (0-3)' in output
    assert "Problems 1 Entities: PER 1" in output
    first, second = docs_of(out)
    assert first.text == "Ann ran. It rained." and not first.has_annotation("SENT_START")
    assert [(ent.text, ent.label_) for ent in first.ents] == [("Ann", "PER")]
    assert [token.ent_iob_ for token in second] == ["", "O", "O"]


def test_a_folder_of_brat(tmp_path, out):
    files = {"a.txt": "Ann ran.", "a.ann": "T1\tPER 0 3\tAnn\n", "annotation.conf": "x"}
    folder = write(tmp_path / "in", files)
    code, output = run(folder, out)
    assert code == 0 and "Files 3 read 1 read with the .ann file beside it 1 a.txt" in output
    assert " of other endings 1 annotation.conf Docs 1" in output
    assert [(ent.text, ent.label_) for ent in docs_of(out)[0].ents] == [("Ann", "PER")]


@pytest.mark.parametrize(
    "name, options", [("a.bmes", ()), ("a.bioes.gz", ()), ("a.txt", ("-f", "characters"))]
)
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_characters_are_not_separated_by_spaces(name, options, encoding, tmp_path, out):
    """Whether the format is named or told by the ending."""
    path = write(tmp_path, {name: "小 B-X\n村 E-X\n。 O\n"}, encoding) / name
    assert run(path, out, *options)[0] == 0
    (doc,) = docs_of(out)
    assert doc.text == "小村。" and [entity.text for entity in doc.ents] == ["小村"]


def exported(n=40):
    """An export of a tool: texts of two labels, one of them rare, and one text five times."""
    names = [("PER", "Ann"), ("PER", "Bob"), ("LOC", "Rome")] * n
    rows = [
        {"text": f"{name} {i} left .", "label": [[0, len(name), label]]}
        for i, (label, name) in enumerate(names[:n])
    ]
    return "\n".join(map(json.dumps, rows + rows[:1] * 4))


@pytest.mark.parametrize("shares", [{"dev": 0.2}, {"dev": 0.1, "test": 0.25}])
def test_one_export_is_divided(tmp_path, shares):
    """By text, alike each time; equal texts together; labels in each part as in the whole."""
    path = write(tmp_path, {"e.jsonl": exported()}) / "e.jsonl"
    options = [part for name, share in shares.items() for part in (f"--{name}", share)]
    code, output = run(path, tmp_path / "c", *options)
    assert code == 0 and run(path, tmp_path / "d", *options)[0] == 0
    parts = {name: docs_of(tmp_path / "c" / f"{name}.spacy") for name in ("train", *shares)}
    for name, docs in parts.items():
        assert [d.text for d in docs] == [d.text for d in docs_of(tmp_path / f"d/{name}.spacy")]
        n_places = sum(doc.ents[0].label_ == "LOC" for doc in docs)
        assert 0.15 < n_places / len(docs) < 0.45, "a third"
    for name, share in shares.items():
        assert abs(len(parts[name]) - share * 44) <= 5
    seen = [{doc.text for doc in docs} for docs in parts.values()]
    assert sum(map(len, seen)) == len(set.union(*seen)) == 40
    assert sum(map(len, parts.values())) == 44
    step = output.partition("Next: ")[2]
    assert step.startswith(f"python -m spacy hoseq init entities -o {tmp_path}/c/entities.cfg")
    assert f"&& python -m spacy train {tmp_path}/c/entities.cfg --paths.train" in step
    few = write(tmp_path, {"f.jsonl": exported(1)}) / "f.jsonl"
    for source, name, more in ((few, "x", []), (path, "x.spacy", []), (path, "x", ["--test", 0.9])):
        code, output = run(source, tmp_path / name, *options, *more)
        assert code == 1 and "[HS027]" in output and not (tmp_path / name).exists()


BLOCK = "Ann NNP B-PER\nran VBD O\n\n"
ODD_OUTCOMES = {
    "there are no sentence boundaries": (("".join(f"w{i % 60} NN O\n" for i in range(1500)) + BLOCK), ()),
    "all tags are": ("Ann X B-PER\nran X O\n\n" * 20, ("--tag-column", 2)),
    "different tags of": ("".join(f"w{i} lem{i} O\n" for i in range(99)) + BLOCK, ("--tag-column", 2)),
    "there are no names": ("Ann NNP O\nran VBD O\n\n" * 3, ()),
    "column 4 has labels, 3 times; not read": ("Ann NNP B-PER B-X\nran VBD O O\n\n" * 3, ()),
    "words are numbers": ("1.5 Ann O\n2.5 ran O\n\n" * 9, ("--word-column", 1, "--tag-column", 0)),
    "no word has a label": ("Ann NNP B-PER\nran VBD O\n\n", ("--tag-column", 0, "--entity-column", 0)),
    "annotations are dropped": ("1\ta\t_\tX\t_\tPlural|First\t0\troot\t_\t_\n\n" * 3, ("-f", "conllu")),
    "cannot be read": (BLOCK * 2 + "Ann\nran VBD O\n\n" * 2, ()),
}  # fmt: skip


@pytest.mark.parametrize("seen", ODD_OUTCOMES)
def test_an_outcome_that_looks_wrong_is_told_with_what_mends_it(tmp_path, out, seen):
    """Once for all formats, before the next step; with --strict nothing is written."""
    text, options = ODD_OUTCOMES[seen]
    path = write(tmp_path, {"a.conll": text}) / "a.conll"
    code, output = run(path, out, "-f", "columns", *options)
    assert "[HW013] The outcome looks wrong" in output and seen in output
    is_mostly_lost = seen in (
        "cannot be read",
        "different tags of",
        "words are numbers",
        "annotations are dropped",
    )
    assert code == is_mostly_lost and out.exists()
    out.unlink()
    code, output = run(path, out, "-f", "columns", "--strict", *options)
    assert code == 1 and "--strict" in output and not out.exists()
    code, output = run(write(tmp_path, {"b.conll": BLOCK * 2}) / "b.conll", out, "--strict")
    assert code == 0 and "HW013" not in output


@pytest.mark.parametrize("mark, name", [(" ", "a.conll"), (",", "a.csv")])
def test_another_encoding_is_named(tmp_path, out, mark, name):
    text = "word pos ner\n" * (mark == ",") + "Zoé NNP B-PER\ndîne VBD O\n\n" * 9
    path = write(tmp_path, {name: text.replace(" ", mark)}, "latin-1") / name
    code, output = run(path, out)
    assert code == 1 and "-e latin-1 reads it" in output and not out.exists()
    assert run(path, out, "-e", "latin-1")[0] == 0 and texts(out)[0].startswith("Zoé/NNP")


def test_what_separates_columns_is_named(tmp_path, out):
    path = write(tmp_path, {"a.txt": "Ann,NNP,B-PER\nran,VBD,O\n\n" * 5}) / "a.txt"
    code, output = run(path, out)
    assert code == 1 and '--separator ","' in output
    assert run(path, out, "--separator", ",")[0] == 0 and texts(out)[0].startswith("Ann/NNP")


def test_a_damaged_row_costs_its_sentence(tmp_path, out):
    """A word that is missing, and a header, do not change what the columns are."""
    for row in ("\t O", "Word Tag"):
        path = (
            write(tmp_path, {"a.txt": f"Ann B-X\nran O\n{row}\nto O\n\nBob B-X\nran O\n"}) / "a.txt"
        )
        code, output = run(path, out, "-F")
        assert code == 1 and f"{path}:3" in output
        assert labelled(docs_of(out)[0].ents) == [("Bob", "X")]


def test_what_nobody_has_answered_is_no_answer(tmp_path, out):
    """Skipped, rejected, not annotated: missing, unless an option says otherwise."""
    spans = [{"value": {"start": 0, "end": 3, "labels": ["PER"]}}]
    rows = [
        {"data": {"text": "Ann ran."}, "annotations": [{"result": spans}]},
        {"data": {"text": "Bob ran."}, "annotations": [{"was_cancelled": True, "result": []}]},
        {"data": {"text": "Kim ran."}, "annotations": [], "predictions": [{"result": spans}]},
        {"text": "Lea ran.", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "reject"},
        {"text": "Tom ran.", "spans": [{"start": 0, "end": 3, "label": "PER"}]},
    ]
    path = write(tmp_path, {"a.jsonl": "\n".join(map(json.dumps, rows))}) / "a.jsonl"
    for option, expected in (("missing", [""] * 3), ("outside", ["O"] * 3), ("leave-out", [])):
        assert run(path, out, "-F", "--unanswered", option)[0] == 0
        assert [doc[0].ent_iob_ for doc in docs_of(out)] == ["B", *expected, "B"]
    assert "[HS161]" in run(path, out, "-F", "--unanswered", "never")[1]


@pytest.mark.parametrize(
    "align, name", [("strict", ""), ("contract", "Ann"), ("expand", "Ann Leeson")]
)
def test_spans_that_end_within_a_word(tmp_path, out, align, name):
    path = write(tmp_path, {"a.jsonl": '{"text": "Ann Leeson ran.", "label": [[0, 7, "PER"]]}\n'})
    code, output = run(path / "a.jsonl", out, "-f", "offsets", "--align", align)
    assert code == (align == "strict") and ('"Ann Leeson" (--align expand' in output) == code
    assert [ent.text for ent in docs_of(out)[0].ents] == [name] * (name != "")
