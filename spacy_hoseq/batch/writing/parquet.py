"""Parquet: the columns as they are."""

import io

import pyarrow as pa
import pyarrow.parquet as pq

from ..output import OutputFormat


def parquet_bytes(table: pa.Table) -> bytes:
    """One row group, compressed with zstd."""
    data = io.BytesIO()
    pq.write_table(
        table.combine_chunks(), data, compression="zstd", row_group_size=max(1, len(table))
    )
    return data.getvalue()


FORMAT = OutputFormat(table=parquet_bytes, is_stream=False)
