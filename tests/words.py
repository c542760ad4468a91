"""How much there is to read in README, CONTRIBUTING and docs/: `python -m tests.words` prints a table of its folders.

Words are what stands between spaces; bars and rules of tables are none. What commands have made, between marks or
below a mark, is counted apart: no editor can shorten it.
"""

import re
from collections import Counter, defaultdict

from .docs.pages import PAGES

MADE = re.compile(
    r"^<!-- begin (.+?) -->\n.*?^<!-- end \1 -->$|^<!-- options: \S+ -->\n\n(?:- `[^\n]*\n)+",
    flags=re.DOTALL | re.MULTILINE,
)
CODE = re.compile(r"^```.*?^```$|^    [^\n]*$", flags=re.DOTALL | re.MULTILINE)
TABLES = re.compile(r"^\|.*$", flags=re.MULTILINE)
MARKUP = re.compile(r"[|:-]+|#+|<!--|-->")
KINDS = ("prose", "code", "tables", "made")


def words_of(text: str) -> int:
    return sum(MARKUP.fullmatch(word) is None for word in text.split())


def counted(page: str) -> Counter[str]:
    """Words of a page, by kind."""
    count = Counter[str]()
    for kind, pattern in (("made", MADE), ("code", CODE), ("tables", TABLES)):
        count[kind] = sum(words_of(match[0]) for match in pattern.finditer(page))
        page = pattern.sub("", page)
    count["prose"] = words_of(page)
    return count


def main() -> None:
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for name, page in PAGES.items():
        if not name.startswith("docs/reference/api/"):
            folders[name.rpartition("/")[0] or "."].update(counted(page))
    folders["all"] = sum(folders.values(), Counter())
    print(f"{'folder':20}" + "".join(f"{kind:>10}" for kind in (*KINDS, "all")))
    for folder, count in folders.items():
        numbers = [*(count[kind] for kind in KINDS), count.total()]
        print(f"{folder:20}" + "".join(f"{number:>10,}" for number in numbers))


if __name__ == "__main__":
    main()
