"""Threads: all tasks in order, errors, nesting, and processes that fork."""

import os
import signal
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kernsemble._jobs import requested_threads
from kernsemble._threads import at_most, n_threads, run, single_threaded
from kernsemble.exceptions import ArgumentError


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")


def test_results_are_in_the_order_of_the_tasks():
    assert run(lambda task: task**2, range(50)) == [task**2 for task in range(50)]


def test_threads_are_reused():
    names = [set(run(lambda _: threading.current_thread().name, range(50))) for _ in range(5)]
    assert len(set().union(*names)) <= 3
    assert threading.current_thread().name not in names[0]


def test_few_tasks_run_in_the_calling_thread():
    assert run(lambda _: threading.current_thread().name, range(3)) == ["MainThread"] * 3


def test_nested_work_starts_no_threads():
    def outer(_):
        return set(run(lambda _: threading.get_ident(), range(10))) == {threading.get_ident()}

    assert all(run(outer, range(20)))


def test_nested_work_ends_with_the_run_that_is_interrupted():
    is_interrupted, finished = threading.Event(), []

    def inner(step):
        finished.append(step)
        if step == 1:
            is_interrupted.wait(10.0)  # until the other task has failed
            time.sleep(0.2)

    def outer(task):
        if task == 0:
            is_interrupted.set()
            raise KeyboardInterrupt
        run(inner, range(20))

    with pytest.raises(KeyboardInterrupt):
        run(outer, range(2), fewest=2)
    assert len(finished) < 5
    assert run(inner, range(4)) == [None] * 4  # the next run is another


def test_single_threaded_limits_the_library_blas_and_openmp():
    before = [each["num_threads"] for each in threadpool_info()]
    with single_threaded():
        assert n_threads() == 1
        assert set(run(lambda _: threading.get_ident(), range(10))) == {threading.get_ident()}
        assert {each["num_threads"] for each in threadpool_info()} <= {1}
    assert n_threads() == 3
    assert [each["num_threads"] for each in threadpool_info()] == before


def test_a_limit_holds_in_its_thread_and_ends_with_its_context():
    before = [each["num_threads"] for each in threadpool_info()]
    found = []

    def work():
        with at_most(2):
            assert n_threads() == 2
            assert len(set(run(lambda _: threading.get_ident(), range(50)))) <= 2
            other = threading.Thread(target=lambda: found.append(n_threads()))
            other.start()
            other.join()
            for inner, expected in ((1, 1), (8, 2), (None, 2)):
                with at_most(inner):
                    assert n_threads() == expected
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert found == [3]
    assert n_threads() == 3
    assert [each["num_threads"] for each in threadpool_info()] == before


def test_blas_has_the_smallest_limit_of_all_threads_until_the_last_leaves():
    def blas():
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    entered, may_leave = threading.Event(), threading.Event()

    def hold():
        with at_most(1):
            entered.set()
            assert may_leave.wait(10.0)

    with threadpool_limits(3, user_api="blas"):
        other = threading.Thread(target=hold)
        other.start()
        assert entered.wait(10.0)
        assert set(blas()) <= {1}
        with at_most(2):
            assert set(blas()) <= {1}
            may_leave.set()
            other.join()
            assert set(blas()) <= {2}
        assert set(blas()) <= {3}


def test_n_jobs_counts_as_in_joblib():
    requested = [None, 1, 5, -1, -2, -9]
    assert [requested_threads(each) for each in requested] == [None, 1, 5, 3, 2, 1]
    for wrong in (0, 1.5, "all"):
        with pytest.raises(ArgumentError, match=r"n_jobs = .*: use a positive whole number"):
            requested_threads(wrong)


def test_after_an_error_no_further_task_is_started():
    started, stopped = [], threading.Event()

    def work(task):
        started.append(task)
        if task == 1:
            raise KeyError("one")
        assert stopped.wait(10.0)

    with pytest.raises(KeyError, match="one"):
        run(work, range(100), on_error=stopped.set)
    assert len(started) <= 6
    assert run(str, range(9)) == [str(task) for task in range(9)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads():
    run(str, range(9))
    child = os.fork()
    if child == 0:
        os._exit(0 if run(str, range(9)) == [str(task) for task in range(9)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_interrupt_is_noticed_where_system_calls_go_on_after_signals():
    def work(task):
        if task == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(1.0)

    signal.siginterrupt(signal.SIGINT, False)  # as polars does
    start = time.perf_counter()
    stopped = []
    try:
        with pytest.raises(KeyboardInterrupt):
            run(
                work, [0, 1], on_error=lambda: stopped.append(time.perf_counter() - start), fewest=2
            )
    finally:
        signal.siginterrupt(signal.SIGINT, True)
    assert stopped[0] < 0.9
