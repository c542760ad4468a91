"""The account of a run: what was found, what was left out and why, what was read and written, and
whether that is still there.

Commands read files through an account and show it at the end, so that nothing is left out in
silence. A file is counted as read when its last item was taken.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from ..errors import Errors
from .files import find_files, found_at
from .sentences import Problem

T = TypeVar("T")
UNREADABLE = "not readable"


class Account:
    """What became of files.

    outcomes: what was found -> "read", "read in part", "not readable", or why it was left out;
        "" = nothing yet.
    unreadable: folders that cannot be read.
    """

    def __init__(self) -> None:
        self.outcomes: dict[Path, str] = {}
        self.unreadable: list[Problem] = []
        self._items: dict[Path, int] = {}
        self._problems: dict[Path, list[Problem]] = {}
        self._written: dict[Path, int] = {}

    def find(self, path: str | Path, suffixes: Sequence[str]) -> list[Path]:
        """The file, or the files below the folder with these endings. RAISES ValueError [HS074]:
        there is nothing to read."""
        files = []
        n_unreadable = len(self.unreadable)
        for found in found_at(path, suffixes):
            self.outcomes.setdefault(found.path, found.left_out)
            if found.problem:
                self.outcomes[found.path] = UNREADABLE
                expected = "a folder that can be read"
                self.unreadable.append(Problem(found.path, 0, found.problem, expected))
            elif not found.left_out:
                files.append(found.path)
        if not files and len(self.unreadable) == n_unreadable:
            find_files(path, suffixes)  # it says why
        return files

    def leave_out(self, files: Iterable[Path], why: str) -> None:
        """Files that were found and will not be read."""
        self.outcomes.update(dict.fromkeys(files, why))

    def read(self, file: Path, items: Iterable[T | Problem]) -> Iterator[T | Problem]:
        """The items of a file, counted. To read a file again counts anew."""
        self.outcomes[file] = ""
        self._items[file] = 0
        problems = self._problems[file] = []
        for item in items:
            if isinstance(item, Problem):
                problems.append(item)
            else:
                self._items[file] += 1
            yield item
        if not problems:
            self.outcomes[file] = "read"
        elif self._items[file]:
            self.outcomes[file] = "read in part"
        else:
            self.outcomes[file] = UNREADABLE

    @property
    def problems(self) -> list[Problem]:
        """All that could not be read."""
        problems = [*self.unreadable]
        for more in self._problems.values():
            problems += more
        return problems

    @property
    def n_items(self) -> int:
        """How many texts, Docs or sentences were read."""
        return sum(self._items.values())

    @contextmanager
    def writing(self, path: Path) -> Iterator[Path]:
        """A path to write to, as `whole` gives it."""
        with whole(path) as part:
            yield part
        self.wrote(path)

    def wrote(self, path: Path, size: int | None = None) -> None:
        """A file that was written, or all files below a folder. size: of the file, in bytes, if it
        is known."""
        for file in path.rglob("*") if path.is_dir() else [path]:
            if not file.is_dir():
                self._written[file] = file.stat().st_size if size is None else size

    def check(self, n_items: int | None = None) -> None:
        """Check the sums. n_items (int): how many items were processed.

        RAISES ValueError [HS115]: a file was not read to its end, items were lost, or what was
        written is not there, or not as it was.
        """
        unread = [str(file) for file, outcome in self.outcomes.items() if not outcome]
        lost = [str(file) for file, size in self._written.items() if _size(file) != size]
        problem = ""
        if lost:
            problem = f"{', '.join(lost[:3])} of {len(self._written):,} files that were written"
            problem += " are gone or have another size"
        elif unread:
            problem = f"{', '.join(unread[:3])} of {len(self.outcomes):,} files were not read"
        elif n_items not in (None, self.n_items):
            problem = f"{self.n_items:,} texts were read, and {n_items:,} processed"
        if problem:
            raise ValueError(Errors.HS115.format(problem=problem))

    def rows(self) -> list[tuple[str, str, str]]:
        """A table: how many files were found; if some were not read, how many of each outcome,
        with the names of some."""
        rows = [("Files", f"{len(self.outcomes):,}", "")]
        counts = Counter(self.outcomes.values())
        if [*counts] != ["read"]:
            for outcome, n in counts.most_common():
                names = [file.name for file, one in self.outcomes.items() if one == outcome]
                shown = "" if outcome == "read" else ", ".join(names[:3])
                rows.append((f"  {outcome}", f"{n:,}", shown))
        return rows


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to, which is renamed to `path` once it is complete. Until then, the file that
    was there before stays."""
    # in the same folder, for a file is renamed at once only within a disk
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _size(file: Path) -> int:
    """Bytes of a file; -1 = it is gone."""
    try:
        return file.stat().st_size
    except OSError:
        return -1
