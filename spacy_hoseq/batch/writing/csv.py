"""A table separated by commas: a row for each token, under the names of the columns."""

from functools import partial

from ..flat import delimited_bytes
from ..output import OutputFormat

FORMAT = OutputFormat(table=partial(delimited_bytes, delimiter=","), is_stream=False, is_flat=True)
