"""Spellings of earlier versions: they work, and a warning says how the same is said now.

In all commands arguments are in the order of MODEL INPUT, what is written is `--output`, and a
letter stands for one option only.
"""

import sys
from pathlib import Path
from typing import Callable, Dict, List, Optional

from spacy.util import is_package
from typer.core import TyperCommand, TyperOption

from ..errors import Warnings
from ..pipelines import found_at
from ..recipes import ALIASES, RECIPES

FIRST = "MODEL as the first argument"
LAST = "DEV as the last argument"
OUTPUT = "--output"
# command -> option of earlier versions -> option, or place among the arguments
OPTIONS: Dict[str, Dict[str, str]] = {
    "apply": {"-n": "--n-process", "--restart": "--force", "-R": "--force"},
    "calibrate": {"-l": "--limit", "-p": "--picture", "--overwrite": "--force"},
    "clusters": {"-c": "--min-count", "-w": "--words"},
    "compact": {
        "--dev": LAST,
        "-d": LAST,
        "-t": "--tolerance",
        "-m": "--metric",
        "--overwrite": "--force",
    },
    "convert": {"-n": "--n-sents", "-p": "--part"},
    "explain": {"--html": OUTPUT},
    "find-errors": {"-a": "--alternatives", "-s": "--seed"},
    "inspect": {"--top": "--number", "-l": "--limit", "--html": OUTPUT},
    "report": {"-t": "--train"},
    "select": {"-b": "--by", "-w": "--per-word"},
    "tag": {"--model": FIRST, "-m": FIRST},
    "treebank": {"-n": "--name", "--overwrite": "--force"},
}
OUTPUT_WAS_LAST = ("convert", "package")


def is_pipeline(name: str) -> bool:
    place = found_at(name)
    return Path(place, "config.cfg").is_file() or is_package(str(place))


def is_config(name: str) -> bool:
    return name.endswith(".cfg") or name in RECIPES or name in ALIASES


# commands whose two arguments were the other way round -> whether one is what stands first now
SWAPPED: Dict[str, Callable[[str], bool]] = {"find-errors": is_config, "select": is_pipeline}


def modern(command: TyperCommand, given: List[str]) -> List[str]:
    """What stands behind the name of a command, as it is said now. Warns of all that is said
    otherwise [HW011]."""
    if "--" in given:
        return given
    name = command.name or ""
    groups = [renamed(name, group) for group in grouped(command, given)]
    for group in [group for group in groups if group[0] in (FIRST, LAST)]:
        groups.remove(group)
        groups.insert(0 if group[0] == FIRST else len(groups), group[1:])
        if group[0] == FIRST and len(arguments_in(groups)) == 1:
            groups.append(["-"])
    places = arguments_in(groups)
    if len(places) == 2:
        first, second = places
        if name in OUTPUT_WAS_LAST:
            warn("OUTPUT as the last argument", OUTPUT)
            groups[second].insert(0, OUTPUT)
        is_first = SWAPPED.get(name)
        if is_first and is_first(groups[second][0]) and not is_first(groups[first][0]):
            warn(f"{groups[first][0]} {groups[second][0]}", "the two the other way round")
            groups[first], groups[second] = groups[second], groups[first]
    return [word for group in groups for word in group]


def grouped(command: TyperCommand, given: List[str]) -> List[List[str]]:
    """Each option with its value, if that is a word of its own, and each argument alone."""
    options = [each for each in command.params if isinstance(each, TyperOption)]
    switches = {word for each in options if each.is_flag for word in each.opts}
    switches |= {word for each in options for word in each.secondary_opts}
    old = OPTIONS.get(command.name or "", {})
    switches |= {word for word, now in old.items() if now in switches}
    names = {*old, *(word for each in options for word in each.opts)}
    groups: List[List[str]] = []
    is_open = False  # whether an option waits for its value
    for word in given:
        if is_open and not word.startswith("--"):
            groups[-1].append(word)
            is_open = False
        else:
            groups.append([word])
            is_open = word not in switches and (
                word in names or (word.startswith("--") and "=" not in word)
            )
    return groups


def renamed(command: str, group: List[str]) -> List[str]:
    """An option as it is called now; FIRST or LAST before the value of one that is an argument."""
    word, *value = group
    for old, now in OPTIONS.get(command, {}).items():
        rest = joined_value(word, old)
        if rest is None:
            continue
        warn(old, now)
        return [now, *([rest] if rest else value)]
    return group


def joined_value(word: str, option: str) -> Optional[str]:
    """What follows an option in the same word: "5" in "-n5", "x" in "--dev=x", "" if nothing
    does; None if it is another option."""
    if word == option:
        return ""
    start = f"{option}=" if option.startswith("--") else option
    return word.removeprefix(start) if word.startswith(start) else None


def arguments_in(groups: List[List[str]]) -> List[int]:
    """Places of the groups that are no options."""
    return [i for i, (word, *_) in enumerate(groups) if word == "-" or not word.startswith("-")]


def warn(old: str, now: str) -> None:
    print(Warnings.HW011.format(old=old, new=now), file=sys.stderr)
