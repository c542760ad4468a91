"""Dask, executors of the standard library, and frames, as in docs/tasks/annotate.md."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from .helpers import TEXTS

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
import pyarrow.parquet as pq  # noqa: E402

from spacy_hoseq.batch import Annotator  # noqa: E402


def annotate_file(annotate, path):
    pq.write_table(annotate(pq.read_table(path, columns=["id", "text"])), f"{path}.annotated")


@pytest.fixture
def paths(tmp_path):
    for n in range(4):
        ids = [f"{n}{i}" for i in range(len(TEXTS))]
        pq.write_table(pa.table({"id": ids, "text": TEXTS}), tmp_path / f"{n}.parquet")
    return sorted(str(path) for path in tmp_path.iterdir())


def check(paths):
    annotate = Annotator("en")
    for path in paths:
        assert pq.read_table(f"{path}.annotated").equals(annotate(pq.read_table(path)))


@pytest.mark.long
def test_processes(paths):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(annotate_file, Annotator("en"), path) for path in paths]:
            future.result()
    check(paths)


def test_threads(paths):
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(annotate_file, Annotator("en"), path) for path in paths]:
            future.result()
    check(paths)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_dask(paths):
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        client.gather([client.submit(annotate_file, Annotator("en"), path) for path in paths])
    check(paths)


def test_frame_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"id": ["a", "b"], "text": TEXTS[:2]})
    result = Annotator("en")(pa.Table.from_pandas(frame)).to_pandas()
    assert [len(tokens) for tokens in result["tokens"]] == [10, 0] and list(result["id"]) == ["a", "b"]


def test_frame_of_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"id": ["a", "b"], "text": TEXTS[:2]})
    result = polars.from_arrow(Annotator("en")(frame.to_arrow()))
    assert result["tokens"].list.len().to_list() == [10, 0]


def test_query_of_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    texts = pa.table({"id": ["a", "b"], "text": TEXTS[:2]})
    result = Annotator("en")(duckdb.sql("SELECT * FROM texts ORDER BY id").to_arrow_table())
    lengths = duckdb.sql("SELECT len(tokens) FROM result ORDER BY id")  # which finds `result` by its name
    assert lengths.fetchall() == [(10,), (0,)] and len(texts) == len(result) == 2
