"""A short run of the fuzzer, the judge itself, and estimators on data that Hypothesis shrinks."""

import json
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from fuzz.driver import Tally, drive, main, run_scene
from fuzz.estimators import KERNELS, SUBJECTS
from fuzz.outcomes import Call, fingerprint, judge, leaves
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone, is_regressor

from kernsemble.exceptions import ArgumentError

SEED, LIMIT = 0, 20.0
N_SCENES = 30


@pytest.mark.large
def test_a_short_run_has_only_allowed_outcomes():
    tally = Tally()
    for number in range(N_SCENES):
        tally.add(run_scene(SEED, number, LIMIT))
    assert list(tally.findings.values()) == []
    assert tally.n_cases > 100
    assert set(tally.counts) == {"answered", "refused"}


NUMBERS = st.floats(width=64) | st.sampled_from([0.0, 1.0, -1.0, 1e300, 5e-324])


@st.composite
def tables(draw, max_rows=8, max_columns=3):
    """Return rows of any floats, and targets, of which some are equal."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    X = draw(arrays(np.float64, (n, d), elements=NUMBERS))
    return X, draw(arrays(np.int64, n, elements=st.integers(0, 2)))


@settings(max_examples=60)
@given(kernel=st.sampled_from(KERNELS), table=tables())
def test_kernels_answer_finitely_or_refuse(kernel, table):
    X, _ = table
    outcome = judge(Call("kernel", lambda X: kernel.bind(X)(X), (X,)), LIMIT)
    assert outcome.is_allowed, outcome


@pytest.mark.large
@settings(max_examples=60)
@given(subject=st.sampled_from([each for each in SUBJECTS if each.weight >= 1.0]), table=tables())
def test_estimators_answer_finitely_or_refuse(subject, table):
    X, y = table
    y = X[:, 0] if is_regressor(subject.estimator) else y

    def fit_and_answer(X, y):
        model = clone(subject.estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, y)
        return model.predict(X) if hasattr(model, "predict") else model.transform(X)

    outcome = judge(Call("fit", fit_and_answer, (X, y)), LIMIT)
    assert outcome.is_allowed, outcome


# -- the judge


def raises(error):
    def function():
        raise error

    return function


def overflows():
    return float(np.float64(1e300) * np.float64(1e300) > 0)


def waits():
    end = time.process_time() + 5.0
    while time.process_time() < end:
        pass


def spoils(X):
    X[0] = 1.0


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda: [1.0, "a", {"b": np.ones(2)}], "answered"),
        (lambda: np.array([1.0, np.nan]), "not finite"),
        (lambda: {"a": [(np.inf,)]}, "not finite"),
        (lambda: np.random.default_rng().normal(), "not reproducible"),
        (lambda: {}["a"], "error"),
        (raises(ValueError("from a caller")), "error"),
        (lambda: int("x"), "error"),
        (lambda: warnings.warn("old", DeprecationWarning, stacklevel=1), "warning"),
        (overflows, "warning"),
        (waits, "hang"),
    ],
)
def test_the_judge_names_the_outcome(function, kind):
    assert judge(Call("a call", function), limit=0.2).kind == kind


def test_an_error_raised_on_purpose_is_allowed():
    estimator = SUBJECTS[0].estimator
    wrong = Call("fit", clone(estimator).set_params(tol=-1.0).fit, (np.eye(2), [0, 1]))
    assert judge(wrong, LIMIT).kind == "refused"
    assert issubclass(ArgumentError, ValueError)
    text = Call("fit", clone(estimator).fit, ([["a"], ["b"]], [0, 1]))
    assert judge(text, LIMIT).kind == "refused"


def test_a_changed_argument_is_found():
    assert judge(Call("a call", spoils, (np.zeros(2),)), LIMIT).kind == "changed its input"


def test_fingerprints_depend_on_every_number_and_name():
    answers = [1.0, 2.0, "1.0", [1.0], {"a": 1.0}, {"b": 1.0}, np.ones(2), np.ones(2, "f4")]
    assert len({fingerprint(each) for each in answers}) == len(answers)
    assert len(list(leaves({"a": [1.0, (2.0, None)]}))) == 7


# -- the driver


def test_a_journal_is_continued(tmp_path):
    journal = tmp_path / "journal.jsonl"
    finding = {"kind": "error", "place": "here", "call": "it", "detail": "", "seed": 0, "scene": 0}
    first = {"scene": 0, "name": "toys", "counts": {"answered": 7}, "findings": [finding]}
    journal.write_text(json.dumps(first) + "\n")
    tally = drive(SEED, 7, 1.0, LIMIT, journal)
    assert (tally.n_scenes, tally.n_cases, len(tally.findings)) == (1, 7, 1)
    assert tally.add(first) == []  # the same place is reported once


def test_a_scene_is_reproduced_by_its_numbers(capsys, monkeypatch):
    assert run_scene(SEED, 1, LIMIT) == run_scene(SEED, 1, LIMIT)
    monkeypatch.setattr(sys, "argv", ["driver", "--seed", str(SEED), "--scene", "1"])
    assert main() == 0
    assert "refused EnsembleView" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_in_worker_processes_counts_outcomes(tmp_path):
    command = [sys.executable, "-m", "fuzz.driver", "--cases", "20"]
    command += ["--journal", str(tmp_path / "journal.jsonl")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cases of" in found.stdout, found.stderr
