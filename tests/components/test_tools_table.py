"""docs/reference/components.md has a row for each component, with the codes of what it cannot do."""

import re

from ..docs.pages import PAGES
from .kinds import KINDS
from .test_tools import CANNOT

NAMES = {"save_marginals": "marginals", "serve": "explain", "save_decisions": "marginals"}
PAGE = "docs/reference/components.md"


def test_the_docs_say_what_components_cannot_do():
    header, *rows = [re.split(r"\s*\|\s*", line)[1:-1] for line in PAGES[PAGE].splitlines() if line.startswith("|")]
    found = {}
    for row in rows[1:]:
        for title, cell in zip(header[1:], row[1:], strict=True):
            for task in re.findall(r"`([^`]+)`", title):
                found[row[0].replace("`", ""), NAMES.get(task, task)] = cell
    assert {row for row, _ in found} == {kind.column for kind in KINDS}
    wanted = {place: code for place, code in CANNOT.items() if place[1] != "serve"}
    assert {place: cell for place, cell in found.items() if cell != "yes"} == wanted
