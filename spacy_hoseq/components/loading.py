"""What every component checks when it was read from bytes or from disk."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional, Protocol, Sequence, Union

from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors
from .annotation import labels_problem


class Loadable(Protocol):
    """A component with its labels in `cfg`, and tables made from them, which it makes again when they are None."""

    name: str
    vocab: Vocab
    model: Model[Any, Any]
    cfg: Dict[str, Any]
    _tables: Any


@contextmanager
def checked_loading(
    component: Loadable,
    where: str,
    n_columns: Callable[[Sequence[str]], int] = len,
    is_of: Optional[Callable[[Sequence[str]], bool]] = None,
) -> Iterator[None]:
    """Read the component within. n_columns: of weights that some labels need. is_of: whether the weights are of some
    labels; None = the number of columns tells.

    RAISES ValueError [HS064]: it cannot be read, or its labels do not fit its weights.
    """
    settings = {key: value for key, value in component.cfg.items() if key not in ("labels", "tag_dictionary")}
    try:
        yield
    except Exception as error:
        raise ValueError(Errors.HS064.format(name=component.name, where=where, problem=repr(error))) from error
    component.cfg.update(settings)  # settings are those of the config, which may override what was saved
    component._tables = None
    labels = component.cfg["labels"]
    problem = labels_problem(labels, component.cfg.get("tag_dictionary", {}))
    width = component.model.get_dim("nO") if component.model.has_dim("nO") else None
    if not problem and width is not None and not (isinstance(width, int) and width == n_columns(labels)):
        problem = f"{width} columns of weights, but {len(labels)} labels"
    if not problem and is_of is not None and not is_of(labels):
        problem = "the weights are of other labels, or of these in another order"
    if problem:
        raise ValueError(Errors.HS064.format(name=component.name, where=where, problem=problem))
    for label in labels:
        component.vocab.strings.add(label)


def weights_from_disk(component: Any, path: Union[str, Path]) -> None:
    """Labels and weights of the component of the same name in a trained pipeline; settings stay those of the config.

    RAISES ValueError [HS068]: there is no such component; [HS064]: it does not fit.
    """
    folder = Path(path) / component.name
    if not folder.is_dir():
        raise ValueError(Errors.HS068.format(name=component.name, path=path))
    component.from_disk(folder, exclude=["vocab"])
