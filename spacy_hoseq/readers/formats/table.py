"""The formats by name, with their settings, as functions that read one file: for registered readers
and the command."""

from functools import partial
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Sequence

from ...errors import Errors
from ..files import PACKED, has_ending
from ..sentences import Items
from .columns import Columns, check_columns, read_columns
from .conllu import read_conllu
from .peoples_daily import read_peoples_daily
from .tagged_text import check_separator, read_tagged_text
from .trees import read_trees


class Format(NamedTuple):
    """read(path, encodings): the sentences and problems of a file. suffixes: of its files in a
    folder. attributes: of tokens that it may give, as `DocBin` names them."""

    read: Callable[[Path, Sequence[str]], Items]
    suffixes: List[str]
    attributes: Sequence[str] = ("ORTH", "TAG", "SENT_START", "ENT_IOB", "ENT_TYPE")


TREES = [".mrg", ".prd", ".parse", ".psd", ".ptb", ".fid", ".bracketed", ".tree", ".trees"]
CTB_GENRES = [".nw", ".mz", ".bn", ".bc", ".wb", ".df", ".sc", ".cs"]
TAGGED = [".txt", ".tagged", ".pos"]
TOLD_COLUMNS = (".tsv", ".conll", ".bio", ".iob", ".iob2")  # .txt may be tagged text, too
CHARACTERS = (".bmes", ".bioes")
COLUMNS = [*TOLD_COLUMNS, ".txt", *CHARACTERS]


def tree_format(chunks: bool, unescape: bool) -> Format:
    """Bracketed trees of the Penn and the Chinese Treebank (brackets.py, trees.py)."""
    return Format(partial(read_trees, chunks=chunks, unescape=unescape), [*TREES, *CTB_GENRES])


def tagged_format(separator: str) -> Format:
    """Words with tags, a sentence a line (tagged_text.py). RAISES ValueError [HS078]: no
    separator."""
    check_separator(separator)
    return Format(partial(read_tagged_text, separator=separator), TAGGED)


def peoples_daily_format(entities: Dict[str, str], split_sentences: bool) -> Format:
    """Paragraphs of words with tags and groups in brackets (peoples_daily.py)."""
    return Format(
        partial(read_peoples_daily, entities=entities, split_sentences=split_sentences), TAGGED
    )


def column_format(columns: Columns) -> Format:
    """A token a line (columns.py). RAISES ValueError [HS075, HS081]: columns or representation that
    cannot be."""
    check_columns(columns)
    return Format(partial(read_columns, columns=columns), COLUMNS)


def conllu_format() -> Format:
    """Treebanks of Universal Dependencies (conllu.py)."""
    return Format(
        read_conllu,
        [".conllu"],
        ("ORTH", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START"),
    )


def mixed_format(
    conllu: Format, trees: Format, tagged: Format, columns: Format, characters: Format
) -> Format:
    """Files of several formats, told by their endings; .txt tells nothing."""
    forms = {".conllu": conllu, ".tagged": tagged, ".pos": tagged}
    forms.update(dict.fromkeys(trees.suffixes, trees))
    forms.update(dict.fromkeys(TOLD_COLUMNS, columns))
    forms.update(dict.fromkeys(CHARACTERS, characters))

    def read(path: Path, encodings: Sequence[str]) -> Items:
        form = next((form for ending, form in forms.items() if has_ending(path, [ending])), None)
        if form is None:
            raise ValueError(
                Errors.HS074.format(
                    path=path,
                    problem="the ending does not tell the format (--format)",
                    suffixes=", ".join(forms) + PACKED,
                )
            )
        return form.read(path, encodings)

    attributes = dict.fromkeys(name for form in forms.values() for name in form.attributes)
    return Format(read, list(forms), list(attributes))
