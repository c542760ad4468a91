"""Ray, really run: `hoseq apply --engine ray`, and Ray Data as in docs/tasks/annotate.md."""

import os

import pytest

from .helpers import TEXTS, as_parquet

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")

from spacy_hoseq.batch import Annotator  # noqa: E402
from spacy_hoseq.batch.engines import here, ray_actors  # noqa: E402
from spacy_hoseq.batch.parts import InputPart  # noqa: E402
from spacy_hoseq.batch.work import Work  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


def test_actors_and_ray_data():
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    annotate = Annotator("en")
    parts = [InputPart(n, [f"{n}-{i}" for i in range(len(TEXTS))], TEXTS, None, [], n) for n in range(6)]
    expected = list(here(Work(annotate, "parquet"), parts))
    assert list(ray_actors(Work(annotate, "parquet"), parts, 2, None)) == expected

    ray.init(num_cpus=4, log_to_driver=False, include_dashboard=False)
    try:
        table = pa.table({"id": [f"{i:03}" for i in range(60)], "text": TEXTS * 10})
        data = ray.data.from_arrow([table.slice(i, 15) for i in range(0, 60, 15)])
        data = data.map_batches(
            Annotator, fn_constructor_args=["en"], batch_format="pyarrow", batch_size=7, concurrency=2
        )
        result = pa.Table.from_batches([b for ref in data.to_arrow_refs() for b in ray.get(ref).to_batches()])
    finally:
        ray.shutdown()
    expected = annotate(table)
    assert as_parquet(result.sort_by("id").cast(annotate.schema)) == as_parquet(expected)
