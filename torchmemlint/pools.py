"""Pools of processes: how work is cut for them, and what becomes of it when one of them dies."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def default_jobs() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def new_pool(jobs: int) -> ProcessPoolExecutor:
    """Processes of our own. They hold what they load and find, and end with the run: nothing in them is garbage but
    interpretations, which are collected by their weight."""
    import multiprocessing

    method = "fork" if sys.platform == "linux" else "spawn"
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context(method), initializer=gc.disable)


def chunks_of(items: Sequence[T], jobs: int, most: int) -> list[Sequence[T]]:
    """Neighbours together (they share imports), at most `most` files and several chunks a job, so that none waits
    long for the last."""
    size = max(1, min(most, -(-len(items) // (jobs * 4))))
    return [items[i : i + size] for i in range(0, len(items), size)]


def submitted(pool: Executor, work: Callable[[Sequence[T]], list[R]], chunk: Sequence[T]) -> Future[list[R]]:
    """The chunk's future; one that has failed already if the pool broke while chunks were still handed out."""
    try:
        return pool.submit(work, chunk)
    except BrokenProcessPool as error:
        failed: Future[list[R]] = Future()
        failed.set_exception(error)
        return failed


def one_by_one(work: Callable[[Sequence[T]], list[R]], chunk: Sequence[T], crashed: Callable[[T], R]) -> list[R]:
    """The results of a chunk, each item in a process that may die."""
    results: list[R] = []
    pool = new_pool(1)
    for item in chunk:
        try:
            results += pool.submit(work, [item]).result()
        except BrokenProcessPool:
            results.append(crashed(item))
            pool = new_pool(1)
    pool.shutdown()
    return results
