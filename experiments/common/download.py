"""Download the files that project.yml of a folder lists under `downloads`, unless they are there.

    python experiments/common/download.py FOLDER [DEST ...]

All of them, or those named. `checksum`: the MD5 sum of the file, where it is known.
"""

import hashlib
import http.client
import urllib.request
from pathlib import Path
from typing import Annotated

import srsly
import typer
from wasabi import msg


def main(
    folder: Path,
    names: Annotated[
        list[str] | None, typer.Argument(help="files; all of them if none is named")
    ] = None,
) -> None:
    downloads = {
        each["dest"]: each for each in srsly.read_yaml(folder / "project.yml")["downloads"]
    }
    chosen = [downloads[name] for name in names or downloads]
    done = [download(folder / each["dest"], each["url"], each.get("checksum")) for each in chosen]
    if not all(done):
        raise typer.Exit(1)


def download(path: Path, url: str, checksum: str | None = None) -> bool:
    if not path.is_file():
        msg.text(f"Download {url}")
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            msg.fail(
                f"No {path}: {error}",
                f"Save {url} as {path.absolute()}, or set HOSEQ_CORPORA to a folder with the corpora (the README of "
                "the experiment has its layout), and run the same command again.",
            )
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if checksum and hashlib.md5(path.read_bytes()).hexdigest() != checksum:
        msg.fail(
            f"{path}: not the file that the tables were made from",
            "Delete it, and run the same command again.",
        )
        return False
    msg.good(f"{path}")
    return True


if __name__ == "__main__":
    typer.run(main)
