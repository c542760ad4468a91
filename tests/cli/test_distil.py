"""`python -m spacy hoseq distil`: a student that labels texts as its teacher does."""

import re
import shutil
from itertools import product

import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_hoseq.pipelines.distillation.silver import Silver
from spacy_hoseq.pipelines.distillation.student import configs_for

from ..docs.pages import blocks
from ..repository import hoseq, invoked

pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")

PEOPLE = ["Ann", "Bob", "Cy", "Dora"]
PLACES = ["Rome", "Oslo", "Lima", "Bonn"]
VERBS = {"sees": "see", "likes": "like", "left": "leave"}
TEXTS = [f"{a} {verb} {b}. {b} is big." for a, verb, b in product(PEOPLE, VERBS, PLACES)]


def teacher(path, *, labels=True):
    """A pipeline of rules that sets everything that can be learnt."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    if labels:
        rules = nlp.add_pipe("attribute_ruler")
        for verb, lemma in VERBS.items():
            attributes = {"TAG": "VBZ", "POS": "VERB", "MORPH": "Tense=Pres", "LEMMA": lemma}
            rules.add([[{"LOWER": verb}]], attributes)
        for name in [*PEOPLE, *PLACES]:
            rules.add([[{"ORTH": name}]], {"TAG": "NNP", "POS": "PROPN", "LEMMA": name})
        names = [{"label": "PERSON", "pattern": name} for name in PEOPLE]
        names += [{"label": "GPE", "pattern": name} for name in PLACES]
        nlp.add_pipe("entity_ruler").add_patterns(names)
        spans = [{"label": "VP", "pattern": [{"LOWER": verb}, {}]} for verb in VERBS]
        nlp.add_pipe("span_ruler", config={"spans_key": "vps"}).add_patterns(spans)
    nlp.to_disk(path)
    return path


def few_updates(work, *kinds, keys=(), soft=False):
    """Configs that are there are used."""
    words = {"train": 300, "dev": 30, "test": 30, "gold": 0}
    silver = Silver([*kinds], [*keys], words, words)
    for name, config in configs_for(silver, "xx", soft=soft).items():
        config["training"]["batcher"]["n_batches"] = config["training"]["eval_frequency"] = 5
        config["training"]["max_epochs"] = 4
        (work / "configs").mkdir(parents=True, exist_ok=True)
        config.to_disk(work / "configs" / f"{name}.cfg")


def run(*arguments):
    return hoseq("distil", *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a teacher, and with its texts, each of them twice."""
    path = tmp_path_factory.mktemp("distil")
    teacher(path / "teacher")
    srsly.write_jsonl(path / "texts.jsonl", [{"text": text} for text in TEXTS * 2])
    return path


@pytest.fixture(scope="module")
def made(folder):
    """The student of names, and what was printed."""
    few_updates(folder / "student-training", "names")
    gold = Doc(Vocab(), words=["Ann", "left"], ents=["B-PER", "O"])
    DocBin(docs=[gold] * 2).to_disk(folder / "gold.spacy")
    options = ["--components", "names", "--rename", "PERSON=PER,*="]
    options += ["--gold", folder / "gold.spacy", "--gold-test", folder / "gold.spacy"]
    options += ["--gold-weight", 3, "--name", "of_names"]
    files = folder / "teacher", folder / "texts.jsonl", "-o", folder / "student"
    code, output = run(*files, *options)
    assert code == 0, output
    return folder / "student", output, options


def test_student_of_names(made):
    nlp = spacy.load(made[0])
    assert nlp.pipe_names == ["sentencizer", "hoseq_entities"]
    doc = nlp("Dora likes Rome. Bob left.")
    ents = [(entity.text, entity.label_) for entity in doc.ents]
    assert ents == [("Dora", "PER"), ("Bob", "PER")]


def test_card(made):
    path, output, _ = made
    card = (path / "README.md").read_text("utf8")
    assert card.startswith("# xx_of_names\n")
    report = srsly.read_json(path.parent / "student-training" / "report.json")
    assert report["agreement"]["ents_f"] == 1.0 and len(report["curve"]) == 4
    assert [scores["ents_f"] for scores in report["people"]] == [1.0, 1.0]
    assert srsly.read_json(path / "meta.json")["performance"] == report["agreement"]
    for table in ("| names, F | 100.0 |", "| - PER | 100.0 | 100.0 |", "| words a second |"):
        assert table in card, table
    assert "12 words annotated by people" in card.replace("\n", " ") and "--licence" in card
    assert "names, F 100.0" in " ".join(output.split())


def test_each_text_is_read_once(made):
    parts = [*(made[0].parent / "student-training" / "corpus").glob("*.spacy")]
    texts = [doc.text for part in parts for doc in DocBin().from_disk(part).get_docs(Vocab())]
    assert sorted(texts) == sorted([*TEXTS, *["Ann left "] * 6])


@pytest.mark.long
def test_goes_on_with_the_same_bytes(made, folder, monkeypatch):
    """After an interruption; what is done is not done again."""
    path, _, options = made
    before = bytes_of(path)
    few_updates(folder / "again-training", "names")
    arguments = [folder / "teacher", folder / "texts.jsonl", "-o", folder / "again", *options]
    with monkeypatch.context() as patch:
        patch.setattr("spacy_hoseq.cli.training.train_recipe", interrupt)
        assert run(*arguments)[0] == 130
    parts = folder / "again-training" / "annotated" / "parts"
    times = [part.stat().st_mtime_ns for part in parts.iterdir()]
    assert run(*arguments)[0] == 0
    assert [part.stat().st_mtime_ns for part in parts.iterdir()] == times
    assert bytes_of(folder / "again") == before


def interrupt(*_):
    raise KeyboardInterrupt


def bytes_of(path):
    """The files of a pipeline without the speed in its card."""
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "README.md"]
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


@pytest.mark.long
def test_everything_that_a_teacher_sets(folder, tmp_path):
    kinds = ["sentences", "tags", "features", "lemmas", "chunks", "names"]
    few_updates(tmp_path / "all-training", *kinds, keys=["vps"])
    files = folder / "teacher", folder / "texts.jsonl", "-o", tmp_path / "all"
    code, output = run(*files, "--no-curve")
    assert code == 0, output
    nlp = spacy.load(tmp_path / "all")
    words = ["hoseq_morphologizer", "hoseq_lemmatizer"]
    assert nlp.pipe_names == ["hoseq_sentences", *words, "hoseq_vps", "hoseq_entities"]
    doc = nlp("Dora likes Rome. Bob left Oslo.")
    assert [sent.text for sent in doc.sents] == ["Dora likes Rome.", "Bob left Oslo."]
    assert [token.lemma_ for token in doc][1:3] == ["like", "Rome"]
    assert (doc[0].tag_, doc[1].pos_, str(doc[1].morph)) == ("NNP", "VERB", "Tense=Pres")
    assert [span.text for span in doc.spans["vps"]] == ["likes Rome", "left Oslo"]
    assert [entity.label_ for entity in doc.ents] == ["PERSON", "GPE", "PERSON", "GPE"]


@pytest.mark.long
def test_probabilities_of_a_teacher(made, folder, tmp_path):
    """A student as a teacher: what it is not sure of is unknown, or it teaches its probabilities."""
    few_updates(tmp_path / "soft-training", "names", soft=True)
    options = ["--soft", "--threshold", "0.5", "--no-curve", "--components", "names"]
    code, output = run(made[0], folder / "texts.jsonl", "-o", tmp_path / "soft", *options)
    assert code == 0, output
    nlp = spacy.load(tmp_path / "soft")
    assert nlp.get_pipe_config("hoseq_entities")["objective"] == "distillation"
    assert [entity.text for entity in nlp("Dora likes Rome.").ents] == ["Dora"]
    train = next(
        DocBin(store_user_data=True)
        .from_disk(tmp_path / "soft-training" / "corpus" / "train.spacy")
        .get_docs(Vocab())
    )
    assert train._.hoseq_marginals["hoseq_entities"]["probabilities"].shape[0] == len(train)


@pytest.mark.long
def test_texts_that_cannot_be_read(folder, tmp_path):
    """The others teach; the account says what was left out."""
    (tmp_path / "in").mkdir()
    shutil.copy(folder / "texts.jsonl", tmp_path / "in")
    (tmp_path / "in" / "foreign.md").write_text("# Ann\n")
    (tmp_path / "in" / "vanished.txt").symlink_to("nowhere")
    few_updates(tmp_path / "new-training", "names")
    options = ["--components", "names", "--no-curve"]
    code, output = run(folder / "teacher", tmp_path / "in", "-o", tmp_path / "new", *options)
    outcomes = "of other endings 1 foreign.md read 1 not readable 1 vanished.txt"
    assert code == 1 and f"Files 3 {outcomes} Words by the teacher" in output, output
    assert spacy.load(tmp_path / "new")("Dora likes Rome.").ents


@pytest.mark.long
def test_commands_of_the_page(made, folder, tmp_path, monkeypatch):
    """From a student to texts that people label, and back."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made[0], "student")
    for name, target in {"llm": "teacher", "texts.jsonl": "texts.jsonl"}.items():
        (tmp_path / name).symlink_to(folder / target)
    srsly.write_jsonl("pool.jsonl", [{"text": f"Eve sees {place}."} for place in PLACES])
    few_updates(tmp_path / "student-training", "names")
    faster = {"distil": ["--no-curve"], "find-errors": ["--folds", "2"]}
    for command in blocks("docs/tasks/distil.md", "bash")[-1].splitlines():
        _, _, program, *arguments = command.split()[1:]
        if program == "hoseq":
            code, output = hoseq(*arguments, *faster.get(arguments[0], []))
            if arguments[0] == "init":
                shutil.copy("student-training/configs/names.cfg", "names.cfg")
        else:
            code, output = invoked(app, [program, *arguments])
        assert code == 0, output
    names = spacy.load("training/model-best")("Dora likes Rome.").ents
    assert [entity.text for entity in names] == ["Dora", "Rome"]


WRONG = {
    "no teacher": (["nowhere", "texts.jsonl"], "HS130"),
    "no text": (["teacher", "none"], "HS074"),
    "texts that are too long": (["teacher", "texts.jsonl", "--words", 1], "HS159.*no text"),
    "too few texts": (["teacher", "texts.jsonl", "--words", 50], "HS159.*at least 10 texts"),
    "a kind of annotation": (["teacher", "texts.jsonl", "--components", "heads"], "HS161"),
    "types": (["teacher", "texts.jsonl", "--rename", "PERSON"], "HS027.*PERSON=PER"),
    "a teacher of nothing": (["silent", "texts.jsonl", "--components", "names"], "HS159.*of names"),
    "no labels of people": (
        ["teacher", "texts.jsonl", "--gold", "texts.jsonl"],
        "HS172.*texts.jsonl",
    ),
    "no probabilities": (["teacher", "texts.jsonl", "--soft"], "HS159.*no --soft"),
    "output": (["teacher", "texts.jsonl", "-o", "teacher"], "HS113"),
}


@pytest.mark.parametrize("arguments, message", WRONG.values(), ids=WRONG)
def test_wrong_input(arguments, message, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("teacher", "texts.jsonl"):
        (tmp_path / name).symlink_to(folder / name)
    teacher(tmp_path / "silent", labels=False)
    code, output = run(*arguments, *([] if "-o" in arguments else ["-o", "new"]))
    assert code == 1
    assert re.search(message, output), output
    assert not (tmp_path / "new").exists()


@pytest.mark.long
def test_other_texts_and_settings(made, folder, monkeypatch):
    """An output holds one job, unless it is to be replaced."""
    path, _, options = made
    arguments = [folder / "teacher", folder / "texts.jsonl", "-o", path]
    assert "HS113" in run(*arguments)[1]
    work = path.parent / "student-training"
    path.rename(folder / "elsewhere")
    code, output = run(*arguments, *options, "--words", 300)
    assert code == 1 and ("HS178" in output or "HS167" in output)
    installed = []
    install = lambda *names, **_: installed.extend(names)  # noqa: E731
    monkeypatch.setattr("spacy_hoseq.cli.training.package_cli", install)
    more = ["--words", 300, "--force", "--no-curve", "--install"]
    code, output = run(*arguments, *options, *more)
    assert installed == [str(path)]
    assert code == 0 and srsly.read_json(work / "cost.json")["words"] <= 300, output
