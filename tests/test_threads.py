"""Threads: all tasks in order, errors, nesting, and processes that fork."""

import os
import threading

import pytest
from threadpoolctl import threadpool_info

from kernsemble._threads import n_threads, run, single_threaded


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")


def test_results_are_in_the_order_of_the_tasks():
    assert run(lambda task: task**2, range(50)) == [task**2 for task in range(50)]


def test_threads_are_kept_for_the_next_work():
    names = [set(run(lambda _: threading.current_thread().name, range(50))) for _ in range(5)]
    assert len(set().union(*names)) <= 3
    assert threading.current_thread().name not in names[0]


def test_few_tasks_are_done_where_they_are():
    assert run(lambda _: threading.current_thread().name, range(3)) == ["MainThread"] * 3


def test_work_within_work_has_no_threads_of_its_own():
    def outer(_):
        return set(run(lambda _: threading.get_ident(), range(10))) == {threading.get_ident()}

    assert all(run(outer, range(20)))


def test_nothing_starts_threads_where_one_is_asked_for():
    before = [each["num_threads"] for each in threadpool_info()]
    with single_threaded():
        assert n_threads() == 1
        assert set(run(lambda _: threading.get_ident(), range(10))) == {threading.get_ident()}
        assert {each["num_threads"] for each in threadpool_info()} <= {1}
    assert n_threads() == 3
    assert [each["num_threads"] for each in threadpool_info()] == before


def test_after_an_error_no_further_task_is_begun():
    begun, stopped = [], threading.Event()

    def work(task):
        begun.append(task)
        if task == 1:
            raise KeyError("one")
        assert stopped.wait(10.0)

    with pytest.raises(KeyError, match="one"):
        run(work, range(100), on_error=stopped.set)
    assert len(begun) <= 6
    assert run(str, range(9)) == [str(task) for task in range(9)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    run(str, range(9))
    child = os.fork()
    if child == 0:
        os._exit(0 if run(str, range(9)) == [str(task) for task in range(9)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
