"""Several repositories checked by a Dask cluster on this machine: the same findings in the same order as elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from torchmemlint.api import Config, check

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


def test_a_dask_cluster_gives_the_same_findings(tmp_path: Path) -> None:
    repositories = [tmp_path / "fixtures", tmp_path / "disguises"]
    shutil.copytree(ROOT / "fixtures", repositories[0])
    shutil.copytree(ROOT / "tests" / "disguises", repositories[1])
    config = Config(hints=True)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        found = [check(repository, config, executor=client.get_executor()) for repository in repositories]
    alone = [check(repository, config) for repository in repositories]
    assert found == alone
    assert [d.code for d in found[0]] == [d.code for d in alone[0]]
    assert [(d.fix, d.related) for d in found[0]] == [(d.fix, d.related) for d in alone[0]]
    assert min(len(part) for part in found) > 10
    assert check(repositories[0], config, jobs=2) == alone[0]
