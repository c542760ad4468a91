"""A table separated by tabs: a row for each token, under the names of the columns."""

from functools import partial

from ..flat import delimited_bytes
from ..output import OutputFormat

FORMAT = OutputFormat(table=partial(delimited_bytes, delimiter="\t"), is_stream=False, is_flat=True)
