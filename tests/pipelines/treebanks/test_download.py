"""Treebanks by their names, from a server of the test's own."""

import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spacy_hoseq.pipelines.treebanks import download

from . import tiny

NAME = "UD_English-Tiny"
PATH = f"/{NAME}/archive/refs/tags/r2.16.tar.gz"


def archive(*files):
    """A packed archive of (name, text)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files:
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


FILES = [
    (f"{NAME}-r2.16/en_tiny-ud-train.conllu", tiny.conllu(n=5)),
    (f"{NAME}-r2.16/README.md", tiny.README),
    (f"{NAME}-r2.16/not-to-release/old.conllu", "old"),
    (f"{NAME}-r2.16/eval.py", "import os"),
    (f"{NAME}-r2.16/../../evil.conllu", "evil"),
    ("/evil/x.conllu", "evil"),
]


@pytest.fixture
def served(monkeypatch):
    """What the server answers, by path, and the paths that were asked for."""
    answers, requested = {PATH: archive(*FILES)}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requested.append(self.path)
            data = answers.get(self.path)
            self.send_response(200 if data else 404)
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(download, "REPOSITORIES", f"http://127.0.0.1:{server.server_port}")
    yield answers, requested
    server.shutdown()
    server.server_close()


def test_what_is_kept(served, tmp_path):
    """Files of the treebank and its README, where they belong; the digest; it is fetched once."""
    answers, requested = served
    folder = download.downloaded(NAME, tmp_path, "2.16")
    assert folder == tmp_path / NAME
    kept = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    names = ["README.md", "en_tiny-ud-train.conllu", "source.json"]
    assert kept == [NAME, *(f"{NAME}/{name}" for name in names)]
    assert (folder / names[1]).read_text("utf8") == tiny.conllu(n=5)
    source = download.source_of_files(folder)
    assert source["sha256"] == hashlib.sha256(answers[PATH]).hexdigest()
    assert source["release"] == "2.16" and source["url"].endswith(PATH)
    assert download.downloaded(NAME, tmp_path, "2.16") == folder and requested == [PATH]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "Not Found"),
        (b"<html>no archive</html>", "not a gzip file"),
        (archive(*FILES)[:400], "end-of-stream"),
        (archive(FILES[1]), "the archive has no .conllu file"),
    ],
)
def test_what_cannot_be_used(served, tmp_path, data, problem):
    """Nothing is left behind, and the message says what to clone."""
    served[0][PATH] = data
    with pytest.raises(ValueError, match=r"\[HS192\]") as raised:
        download.downloaded(NAME, tmp_path, "2.16")
    message = str(raised.value)
    assert problem in message and f"git clone --depth 1 {download.REPOSITORIES}/{NAME}" in message
    assert not [*tmp_path.iterdir()]


def test_sizes_are_bound(served, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MAX_BYTES", 300)
    with pytest.raises(ValueError, match="larger than 300 bytes"):
        download.downloaded(NAME, tmp_path, "2.16")


def test_without_a_network(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "REPOSITORIES", "http://127.0.0.1:1")
    with pytest.raises(ValueError, match=r"\[HS192\].*git clone"):
        download.downloaded(NAME, tmp_path, "2.16")


def test_a_release_replaces_another(served, tmp_path):
    served[0][PATH.replace("2.16", "2.15")] = archive((f"{NAME}/en_tiny-ud-test.conllu", "x"))
    download.downloaded(NAME, tmp_path, "2.16")
    folder = download.downloaded(NAME, tmp_path, "2.15")
    assert [path.name for path in folder.glob("*.conllu")] == ["en_tiny-ud-test.conllu"]
