"""A config as text, with its comments, made of layers: each says only what differs from those below
it.

thinc's `Config` reads and merges values, and loses comments; a config that a person goes on with
needs them.
"""

import re
from typing import Dict, Iterable, List, NamedTuple

SECTION = re.compile(r"\[(.+)\]")


class Section(NamedTuple):
    """A part of a config. comment: lines above its header. settings: name -> lines, the comment
    above it and its `name = value`. A setting is one line."""

    comment: List[str]
    settings: Dict[str, List[str]]

    @property
    def function(self) -> str:
        """The registered function that makes it, whose settings are no other function's; "" =
        none."""
        lines = [lines[-1] for name, lines in self.settings.items() if name.startswith("@")]
        return lines[0].partition(" = ")[2].strip('"') if lines else ""

    def made_by(self, function: str, settings: Dict[str, List[str]]) -> "Section":
        """The same, made by another function, with settings of it below its name."""
        changed: Dict[str, List[str]] = {}
        for name, lines in self.settings.items():
            changed[name] = lines
            if name.startswith("@"):
                changed[name] = [*lines[:-1], f'{name} = "{function}"']
                changed.update(settings)
        return Section(self.comment, changed)


Sections = Dict[str, Section]


class Layer(NamedTuple):
    """heading: the comment on top, which a blank line parts from the rest. sections: by name, in
    order."""

    heading: List[str]
    sections: Sections


def read_layer(text: str) -> Layer:
    """A config, or what differs from one."""
    layer = Layer([], {})
    comment = []
    name = ""
    for line in text.splitlines():
        header = SECTION.fullmatch(line)
        if line.startswith("#"):
            comment.append(line)
        elif header:
            name = header[1]
            layer.sections[name] = Section(comment, {})
            comment = []
        elif line:
            layer.sections[name].settings[line.partition(" =")[0]] = [*comment, line]
            comment = []
        elif not layer.sections and not layer.heading:
            layer.heading.extend(comment)
            comment = []
    return layer


def composed(layers: Iterable[Layer]) -> Layer:
    """One config of all layers.

    A setting of a later layer replaces that of an earlier one. A section that a registered function
    makes replaces the whole section, with those in it; so does a section what was a single setting,
    and the other way round.
    """
    result = Layer([], {})
    for heading, sections in layers:
        result = Layer(heading or result.heading, result.sections)
        for name, section in sections.items():
            _add(result.sections, name, section)
    return result


def _add(sections: Sections, name: str, section: Section) -> None:
    parent, _, last = name.rpartition(".")
    if parent in sections:
        sections[parent].settings.pop(last, None)
    if section.function and name in sections:
        sections[name] = Section([], {})  # keeps its place
        _remove(sections, f"{name}.")
    for setting in section.settings:
        sections.pop(f"{name}.{setting}", None)
        _remove(sections, f"{name}.{setting}.")
    known = sections.get(name, Section([], {}))
    together = Section(section.comment or known.comment, {**known.settings, **section.settings})
    if name in sections:
        sections[name] = together
    else:
        _insert(sections, name, together)


def _remove(sections: Sections, start: str) -> None:
    for name in [name for name in sections if name.startswith(start)]:
        del sections[name]


def _insert(sections: Sections, name: str, section: Section) -> None:
    """Behind the last section of the nearest one that holds it."""
    above = name
    while above and not any(f"{other}.".startswith(f"{above}.") for other in sections):
        above = above.rpartition(".")[0]
    names = list(sections)
    relatives = [
        i for i, other in enumerate(names) if not above or f"{other}.".startswith(f"{above}.")
    ]
    at = relatives[-1] + 1 if relatives else len(names)
    later = {other: sections.pop(other) for other in names[at:]}
    sections[name] = section
    sections.update(later)


def text_of(layer: Layer) -> str:
    """The config as a file has it."""
    parts = [layer.heading] if layer.heading else []
    for name, section in layer.sections.items():
        settings = [line for lines in section.settings.values() for line in lines]
        parts.append([*section.comment, f"[{name}]", *settings])
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"
