"""Names of pipelines, languages and components, before they become parts of a path.

A config.cfg or meta.json may come from anywhere: "../evil" in it must not lead out of the folder
that the user has given.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from spacy.util import get_lang_class, get_minor_version

from ..errors import wrong_value


def checked_language(lang: str) -> str:
    """The code of a language. RAISES ValueError [HS027]: spaCy has no such language."""
    try:
        # spaCy would import a module of this name, such as `spacy.lang.en.stop_words`
        if not is_word(lang):
            raise ImportError(lang)
        get_lang_class(lang)
    except ImportError as error:
        raise wrong_value(
            "language",
            lang,
            'the code of one that spaCy has ("en", "zh", ...), or "xx" for any other',
        ) from error
    return lang


def package_name(meta: Mapping[str, Any]) -> str:
    """The name of a pipeline's package, such as "en_hoseq_sm".

    meta: language, name and version of the pipeline. RAISES ValueError [HS027]: one of them cannot
    be part of the name of a package.
    """
    lang = meta["lang"]
    name = meta["name"]
    version = meta["version"]
    check_name(name)
    _check(is_word(lang), "language", lang, 'ASCII letters, digits and "_", such as "en"')
    _check(is_version(version), "version", version, 'a version by PEP 440, such as "1.0.0"')
    # as `spacy package` does
    return name if name.startswith(f"{lang}_") else f"{lang}_{name}"


def check_name(name: object) -> None:
    """RAISES ValueError [HS027]: the package of a pipeline cannot have this name."""
    full = f"xx_{name}"
    expected = 'ASCII letters, digits and "_" (not the last), such as "hoseq"'
    _check(is_word(full) and not full.endswith("_"), "name", name, expected)


def is_word(text: object) -> bool:
    """True if it consists of ASCII letters, digits and "_", and does not begin with a digit or "_"."""
    return isinstance(text, str) and text.isascii() and text.isidentifier() and text[0] != "_"


def is_version(text: object) -> bool:
    """True for a version by PEP 440 without spaces around it."""
    return isinstance(text, str) and text == text.strip() and get_minor_version(text) is not None


def is_file_name(text: str) -> bool:
    """True if it names a file or folder in any folder, on any system."""
    return text not in ("", "..") and text == PurePosixPath(text).name == PureWindowsPath(text).name


def _check(is_right: bool, what: str, value: object, expected: str) -> None:
    if not is_right:
        what = f"{what} of a pipeline"
        raise wrong_value(what, repr(value), expected)
