"""MODEL means the same in every command: a folder, an installed package, or a pipeline of this package."""

import shutil
import sys

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from typer.main import get_command

from spacy_hoseq.cli import adapt, hoseq_cli, shared, text
from spacy_hoseq.cli import model as commands_of_models
from spacy_hoseq.pipelines.loading import folder_of, source_of

from ..components.helpers import CORPUS, trained
from ..repository import hoseq as run

COMMANDS = get_command(hoseq_cli).commands
USES = {  # command -> its arguments; MODEL stands for any kind of pipeline
    "adapt": ["MODEL", "dev.spacy", "-o", "out"],
    "apply": ["MODEL", "texts.txt", "-o", "out", "-f", "jsonl"],
    "calibrate": ["MODEL", "dev.spacy", "-o", "out"],
    "clusters": ["texts.txt", "--model", "MODEL", "-o", "out", "-n", "2", "--min-count", "1"],
    "compact": ["MODEL", "dev.spacy", "-o", "out", "--tolerance", "1"],
    "explain": ["MODEL", "texts.txt", "-o", "out"],
    "inspect": ["MODEL", "-o", "out"],
    "package": ["MODEL", "-o", "out", "-b", "none"],
    "report": ["MODEL", "dev.spacy", "-o", "out", "--against", "MODEL"],
    "select": ["MODEL", "texts.txt", "-o", "out.jsonl", "-n", "1"],
    "serve": ["MODEL", "--port", "0"],
    "tag": ["MODEL", "texts.txt", "-o", "out"],
}
LONG = {"serve": text, "adapt": adapt}
KINDS = ("folder", "package", "af")

pytestmark = [
    pytest.mark.usefixtures("loaded_once"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # spaCy leaves files open
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of installed packages with the pipeline xx_tiny, as `spacy package` lays it out."""
    site = tmp_path_factory.mktemp("site")
    nlp = trained()
    nlp.meta |= {"name": "tiny", "version": "1.0"}
    (site / "xx_tiny").mkdir()
    nlp.to_disk(site / "xx_tiny" / "xx_tiny-1.0")
    shutil.copy(site / "xx_tiny" / "xx_tiny-1.0" / "meta.json", site / "xx_tiny")
    load = "def load(**s): return spacy.util.load_model_from_init_py(__file__, **s)"
    (site / "xx_tiny" / "__init__.py").write_text(f"import spacy.util\n{load}")
    (site / "xx_tiny-1.0.dist-info").mkdir()
    (site / "xx_tiny-1.0.dist-info" / "METADATA").write_text("Name: xx_tiny\nVersion: 1.0\n")
    return site


@pytest.fixture
def place(site, tmp_path, monkeypatch):
    """An empty folder with texts and a corpus, where the package is installed."""
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("Die hond sien die kat .\n", "utf8")
    docs = []
    for words, tags in CORPUS[:3]:
        pos = ["NOUN" if tag == "N" else "X" for tag in tags.split()]
        words = words.split()
        docs.append(Doc(trained().vocab, words=words, tags=tags.split(), pos=pos, lemmas=words))
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    yield tmp_path
    sys.modules.pop("xx_tiny", None)


def test_every_command_with_a_model_is_here():
    names = {name: {param.name for param in command.params} for name, command in COMMANDS.items()}
    named = {name for name, params in names.items() if params & {"model", "arguments"}}
    assert named == set(USES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", USES)
def test_model(name, kind, place, site, monkeypatch):
    if name in LONG or (kind == "af" and name in ("calibrate", "compact")):
        module = LONG.get(name, commands_of_models)
        monkeypatch.setattr(module, "pipeline_of", load_and_stop)
    model = {"folder": str(site / "xx_tiny" / "xx_tiny-1.0"), "package": "xx_tiny"}.get(kind, kind)
    code, output = run(name, *(model if word == "MODEL" else word for word in USES[name]))
    assert "Loaded, that is enough" in output or (code == 0 and any(place.glob("out*"))), output


def load_and_stop(*arguments, **settings):
    """For commands that would take long, or not end."""
    assert shared.pipeline_of(*arguments, **settings).pipe_names
    raise ValueError("Loaded, that is enough")


@pytest.mark.parametrize("name", USES)
def test_no_model(name, place):
    code, output = run(name, *("nothing" if word == "MODEL" else word for word in USES[name]))
    assert code == 1 and "[HS130]" in output and not any(place.glob("out*"))


def test_the_first_that_exists(site, place):
    """A folder comes before a package of the same name, for what is loaded and where its files are."""
    assert source_of("xx_tiny") == "xx_tiny"
    assert folder_of("xx_tiny") == site / "xx_tiny" / "xx_tiny-1.0"
    assert folder_of("af") == folder_of("af_hoseq_sm") == source_of("af")
    spacy.blank("xx").to_disk(place / "xx_tiny")
    assert source_of("xx_tiny") == folder_of("xx_tiny")
    assert folder_of("xx_tiny").resolve() == place / "xx_tiny"


def test_only_a_folder_is_compacted_in_place(place):
    for model in ("af", "xx_tiny"):
        code, output = run("compact", model, "dev.spacy", "--force")
        assert code == 1 and "[HS159]" in output and "--output" in output


WRONG = {
    "lang": ["../../evil", "", "_", "a/b", "..", "C:", "xx\n"],
    "name": ["../../evil", "", "a b/c", "tiny_", 'x"', "é"],
    "version": ["1/../../../evil", "", "..", " 1.0", "1.0\n", "latest"],
}


@pytest.mark.parametrize("field, value", [(name, each) for name in WRONG for each in WRONG[name]])
def test_fields_of_meta_that_lead_elsewhere(field, value, site, tmp_path):
    """Nothing is written: neither there nor in the folder for the package."""
    model = shutil.copytree(site / "xx_tiny" / "xx_tiny-1.0", tmp_path / "a" / "model")
    meta = srsly.read_json(model / "meta.json")
    srsly.write_json(model / "meta.json", {**meta, field: value})
    before = set(tmp_path.rglob("*"))
    code, output = run("package", str(model), "-o", str(tmp_path / "a" / "b" / "c"), "-b", "none")
    assert code == 1, output
    message = f"[HS027] Wrong {field.replace('lang', 'language')} of a pipeline"
    assert message in output or (not value and "[HS133]" in output)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("component", ["../../evil", "..", "a/b", "a\\b"])
def test_names_of_components_that_lead_elsewhere(component, site, place):
    """A component is saved, and drawn, in a file of its name."""
    model = shutil.copytree(site / "xx_tiny" / "xx_tiny-1.0", place / "a" / "b" / "model")
    shutil.copytree(model / "hoseq_tagger", model / component, dirs_exist_ok=True)
    config = (model / "config.cfg").read_text("utf8")
    quoted = component.replace("\\", "\\\\")
    config = config.replace('["hoseq_tagger"]', f'["{quoted}"]')
    config = config.replace("[components.hoseq_tagger", f"[components.{component}")
    (model / "config.cfg").write_text(config, "utf8")
    before = set(place.rglob("*"))
    code, output = run("calibrate", str(model), "dev.spacy", "-o", "out", "--picture", "out/x/y")
    assert code == 1 and "[HS133]" in output, output
    assert set(place.rglob("*")) == before


@pytest.mark.parametrize("lang", ["../../evil", "en.stop_words", "..", "qq", "a/b"])
def test_languages_that_lead_elsewhere(lang, place):
    (place / "UD").mkdir()
    (place / "UD" / "xx-ud-train.conllu").write_text("1\tA\ta\tX\tX\t_\t0\troot\t_\t_\n\n")
    before = set(place.rglob("*"))
    commands = ["init tagger -o out", "treebank UD -o out", "clusters texts.txt -o out"]
    for command in [*commands, "find-errors tagger dev.spacy -o out"]:
        code, output = run(*command.split(), "--lang", lang)
        assert code == 1 and "[HS027] Wrong language" in output, output
    assert set(place.rglob("*")) == before
