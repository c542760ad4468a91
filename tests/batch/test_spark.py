"""Apache Spark, really run: `mapInArrow`, as in docs/tasks/annotate.md."""

import os
import shutil
import sys

import pytest

from .helpers import TEXTS, as_parquet

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
import pyarrow.parquet as pq  # noqa: E402

from spacy_hoseq.batch import Annotator  # noqa: E402

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="Spark needs Java"),
]


def test_map_in_arrow(tmp_path):
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    table = pa.table({"id": [f"{i:03}" for i in range(60)], "text": TEXTS * 10})
    pq.write_table(table, tmp_path / "texts.parquet")
    settings = {"spark.ui.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    builder = SparkSession.builder.master("local[2]").appName("hoseq")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        annotate = Annotator("en").with_bytes()
        rows = spark.read.parquet(str(tmp_path / "texts.parquet")).select("id", "text").repartition(2)
        rows = rows.mapInArrow(lambda batches: annotate.stream(batches), from_arrow_schema(annotate.schema))
        rows.write.parquet(str(tmp_path / "annotated"))
    finally:
        spark.stop()
    files = list((tmp_path / "annotated").glob("*.parquet"))
    result = pa.concat_tables([pq.read_table(path) for path in files]).sort_by("id")
    assert len(files) >= 2 and as_parquet(result.cast(annotate.schema)) == as_parquet(annotate(table))
