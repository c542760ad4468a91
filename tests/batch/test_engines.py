"""Ray, Spark and Dask, really run: the examples of docs/tasks/annotate.md, as they stand there."""

import os
import re
import shutil
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from ..repository import ROOT
from .helpers import TEXTS

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
import pyarrow.parquet as pq  # noqa: E402

from spacy_hoseq.batch import Annotator  # noqa: E402

PAGE = ROOT / "docs" / "tasks" / "annotate.md"


@pytest.fixture
def annotated(tmp_path, monkeypatch):
    """Run the example of an engine. RETURNS the rows that are in `annotated/`, in the order of ids."""
    table = pa.table({"id": [f"{i:03}" for i in range(60)], "text": TEXTS * 10})
    (tmp_path / "texts").mkdir()
    for i in range(4):
        pq.write_table(table.slice(i * 15, 15), tmp_path / "texts" / f"{i}.parquet")
    monkeypatch.chdir(tmp_path)

    def run(engine):
        pattern = rf"^{engine}.*\n\n((?:    .*\n|\n)+)"
        code = re.search(pattern, PAGE.read_text(), flags=re.MULTILINE)[1]
        exec(compile(textwrap.dedent(code), engine, "exec"), {})
        files = (tmp_path / "annotated").rglob("*.parquet")
        return pa.concat_tables([pq.read_table(path) for path in files]).sort_by("id"), table

    return run


def rows_of(table, schema):
    return table.select(schema.names).cast(schema).to_pylist()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_ray(annotated, monkeypatch):
    ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=4, log_to_driver=False, include_dashboard=False)
    try:
        result, table = annotated("Ray")
    finally:
        ray.shutdown()
    annotate = Annotator("en")
    assert rows_of(result, annotate.schema) == annotate(table).to_pylist()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="Spark needs Java"
)
def test_spark(annotated, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="the extra `spark` is not installed")
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, sys.executable)
    settings = {"spark.ui.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    builder = sql.SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        result, table = annotated("Apache Spark")
    finally:
        spark.stop()
    annotate = Annotator("en")
    assert rows_of(result, annotate.schema) == annotate(table).to_pylist()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_dask(annotated):
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        result, table = annotated("Dask")
    annotate = Annotator("en", outputs=["word", "tag", "spans"], flat=True)
    keys = [("id", "ascending"), ("token", "ascending")]
    assert rows_of(result.sort_by(keys), annotate.schema) == annotate(table).to_pylist()


def test_threads():
    annotate = Annotator("en")
    table = pa.table({"id": list("abcdef"), "text": TEXTS})
    with ThreadPoolExecutor(2) as pool:
        assert all(result.equals(annotate(table)) for result in pool.map(annotate, [table] * 3))


def test_frame_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"id": ["a", "b"], "text": TEXTS[:2]})
    result = Annotator("en")(pa.Table.from_pandas(frame)).to_pandas()
    assert [len(tokens) for tokens in result["tokens"]] == [10, 0]
    assert list(result["id"]) == ["a", "b"]
