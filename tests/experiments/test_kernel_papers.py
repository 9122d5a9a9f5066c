"""Methods and pictures of Crammer et al. (2002) and of Zhu (2008), on small data."""

from functools import partial
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from kernsemble.datasets import DatasetNotFoundError, make_sparse_sum
from kernsemble.detection import average_precision
from kernsemble.experiments import Cell, Mean, PublishedComparison, Record, Verdict, paper_data
from kernsemble.experiments.curves import mean_curve, mean_curves, records_of_method
from kernsemble.experiments.methods import METHODS, column_selection, run_method, settings
from kernsemble.experiments.methods.kernel_boosting import learn_kernel, perceptron_on
from kernsemble.experiments.methods.rare_classes import ranked
from kernsemble.experiments.paper_data import (
    GENERATORS,
    RARE_CLASSES,
    RareClass,
    TrainTestData,
    draw,
    n_draws,
    rare_fold,
)
from kernsemble.experiments.pictures import PICTURES
from kernsemble.kernels import Linear
from kernsemble.selection import ParallelEvolutionSelector

DRAWN = ["crammer synthetic", "crammer synthetic, noisy", "zhu spheres", "zhu toy", "zhu larger"]


@pytest.fixture
def digits(monkeypatch):
    """Replace all data sets by three rows of each digit, whose pixels equal the digit."""
    y = np.repeat(np.arange(10), 3)
    X = np.outer(y, np.ones(4)) + np.random.default_rng(0).normal(size=(30, 4)) / 10.0
    dataset = SimpleNamespace(X=X, y=y, splits=(), parts=lambda: (X, X + 0.01, y, y))
    monkeypatch.setattr(paper_data, "_read", lambda _: dataset)
    return dataset


@pytest.mark.parametrize("name", DRAWN)
def test_draws_depend_on_their_seed_only(name):
    first, again, other = draw(name, 3), draw(name, 3), draw(name, 4)
    assert n_draws(name) is None
    for part, same, different in zip(first[:4], again[:4], other[:4], strict=True):
        assert_array_equal(part, same)
        assert not np.array_equal(part, different)


def test_noise_is_in_two_features_of_test_rows():
    clean, noisy = draw("crammer synthetic", 2), draw("crammer synthetic, noisy", 2)
    assert clean.X.shape == (300, 100)
    assert clean.X_test.shape == (200, 100)
    assert_array_equal(clean.X, noisy.X)
    assert_array_equal(clean.X_test[:, 2:], noisy.X_test[:, 2:])
    difference = noisy.X_test[:, :2] - clean.X_test[:, :2]
    assert difference.std() == pytest.approx(0.03, rel=0.15)


@pytest.mark.parametrize("name", ["zhu toy", "zhu larger"])
def test_true_columns_leave_a_residual_of_one(name):
    data = draw(name, 0)
    columns = list(data.columns)
    X, y = (np.concatenate(parts) for parts in (data[:3:2], data[1:4:2]))
    residual = y - X[:, columns] @ np.linalg.lstsq(X[:, columns], y, rcond=None)[0]
    assert residual.std() == pytest.approx(1.0, abs=0.2)


def test_pairs_of_digits_are_all_pairs(digits):
    assert n_draws("usps pairs") == 45
    pairs = [tuple(np.unique(draw("usps pairs", seed).y)) for seed in range(45)]
    assert pairs == list(combinations(range(10), 2))
    assert_array_equal(draw("usps pairs", 44).X_test, digits.X[24:] + 0.01)
    with pytest.raises(ValueError, match="seed = 45: usps pairs has 45 draws"):
        draw("usps pairs", 45)


def test_folds_of_a_rare_class_test_every_row_once(digits):
    case = RareClass("yeast", 4, n_folds=3, n_repeats=2)
    tested = np.concatenate([rare_fold(case, seed).X_test for seed in range(3)])
    assert_allclose(np.sort(tested, axis=0), np.sort(digits.X, axis=0))
    for seed in range(6):
        data = rare_fold(case, seed)
        assert (data.y.sum(), data.y_test.sum()) == (2, 1)


def test_spam_is_trained_on_as_many_rows_as_the_paper_has(monkeypatch):
    rows = SimpleNamespace(X=np.arange(4601.0)[:, None], y=np.arange(4601) % 2, splits=())
    monkeypatch.setattr(paper_data, "_read", lambda _: rows)
    data = draw("spam of zhu", 0)
    assert (len(data.y), len(data.y_test)) == (1536, 3065)


def test_missing_data_are_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNSEMBLE_DATA", str(tmp_path))
    paper_data._read.cache_clear()
    with pytest.raises(DatasetNotFoundError):
        draw("usps pairs", 0)


def test_perceptron_values_equal_those_of_a_plain_loop():
    data = draw("crammer synthetic", 0)
    X, y = data.X, data.y
    w, mistaken, errors = np.zeros(100), [], []
    for _ in range(10):
        for row, sign in zip(X, y, strict=True):
            mistaken.append(sign * (w @ row) <= 0.0)
            w += sign * row * mistaken[-1]
        errors.append(100.0 * np.mean(np.sign(data.X_test @ w) != data.y_test))
    values = perceptron_on(Linear(), data)
    assert [values[f"error@{epoch}"] for epoch in range(1, 11)] == pytest.approx(errors)
    assert values["error"] == pytest.approx(errors[-1])
    assert values["online"] == pytest.approx(100.0 * np.mean(mistaken[:300]))
    assert values["online@30"] == pytest.approx(100.0 * np.mean(mistaken[20:40]))
    assert values["not separated"] == 0.0
    assert values["mistakes"] == sum(mistaken)
    assert values["examples"] == 1 + np.flatnonzero(mistaken)[-1]


def test_inseparable_rows_have_no_number_of_mistakes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.choice([-1, 1], 40)
    values = perceptron_on(Linear(), TrainTestData(X, y, X, y))
    assert values["not separated"] == 100.0
    assert not {"mistakes", "examples"} & values.keys()


@pytest.mark.large
def test_printed_weights_depend_on_the_scale_of_rows_but_line_search_does_not():
    data = draw("crammer synthetic", 0)
    larger = data._replace(X=10.0 * data.X, X_test=10.0 * data.X_test)
    learned, searched, scaled = (
        run_method(f"Perceptron, {name}", data, 0)
        for name in ("learned", "line search", "rows times ten")
    )
    assert learned["online"] < run_method("Perceptron", data, 0)["online"]
    assert scaled == run_method("Perceptron, learned", larger, 0)
    assert scaled["alignment"] > learned["alignment"] + 0.1
    again = run_method("Perceptron, line search", larger, 0)
    assert again["alignment"] == pytest.approx(searched["alignment"], abs=0.01)
    assert searched["mistakes"] <= 2.0
    assert run_method("Perceptron, ExpLoss", data, 0)["mistakes"] == 1.0


@pytest.mark.large
def test_printed_weights_find_nearly_one_function_in_short_rows():
    data = draw("crammer synthetic", 0)
    kernel = learn_kernel(Linear(), data, "log", "bound", False)
    functions = kernel.coefficients @ kernel.templates
    functions /= np.linalg.norm(functions, axis=1, keepdims=True)
    assert len(functions) == 30
    assert np.abs(functions @ functions[0]).min() > 0.99
    assert 0.001 < np.abs(data.X @ functions[0]).mean() ** 2 < 0.006


@pytest.mark.large
def test_kernels_of_digits_are_compared(digits):
    data = draw("usps pairs", 7)
    values = run_method("digits", data, 0)
    assert values["learned below"] + values["learned not below"] == 100.0
    assert values["learned below"] == 100.0 * (values["learned"] < values["RBF"])
    assert values["transductive above"] == 100.0 * (values["transductive"] > values["learned"])
    assert 1 <= values["rounds"] <= 30


def test_a_ranking_returns_lost_precision_and_hits():
    y = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    X = np.arange(8.0)[:, None]
    data = TrainTestData(X, y, X, y)
    best = ranked(lambda *_: SimpleNamespace(decision_function=lambda X: -X[:, 0]), data, 0)
    worst = ranked(lambda *_: SimpleNamespace(decision_function=lambda X: X[:, 0]), data, 0)
    assert best["lost"] == 0.0
    assert (best["hits@0.5"], best["hits@1"], best["hits@3"]) == (50.0, 100.0, 100.0)
    assert worst["lost"] == pytest.approx(100.0 * (1.0 - (1 / 7 + 2 / 8) / 2))
    assert worst["hits@3"] == 0.0


@pytest.mark.large
def test_methods_for_rare_classes_find_a_separate_cluster():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(180, 2)), rng.normal(6.0, 1.0, (20, 2))])
    y = np.repeat([0, 1], [180, 20])
    data = TrainTestData(X[::2], y[::2], X[1::2], y[1::2])
    for name in ("LAGO", "LAGO, chosen", "SVC balanced", "AdaBoost ranking"):
        assert run_method(name, data, 0)["lost"] < 5.0


def test_a_forest_is_ranked_by_its_probabilities():
    data = TrainTestData(*(draw("twonorm", 0)[:4]))
    data = data._replace(y=data.y == 1, y_test=(data.y_test == 1).astype(int))

    def small(X, y):
        return RandomForestClassifier(5, random_state=0).fit(X, y)

    scores = small(data.X, data.y).predict_proba(data.X_test)[:, 1]
    lost = 100.0 * (1.0 - average_precision(data.y_test, scores))
    assert ranked(small, data, 0)["lost"] == pytest.approx(lost)


def test_a_selection_returns_numbers_of_absent_and_spurious_columns():
    data = draw("zhu toy", 0)
    for columns, expected in (
        ([1, 4, 7], (0.0, 0.0, 0.0)),
        ([1, 4, 7, 9], (100.0, 0.0, 1.0)),
        ([0, 2, 4], (100.0, 2.0, 2.0)),
    ):
        selected = np.isin(np.arange(10), columns)
        select = partial(lambda selected, *_: selected, selected)
        values = column_selection.selection_values(select, data, 0)
        assert tuple(values.values()) == expected


@pytest.mark.parametrize("seed", [0, 6])
def test_groups_of_subsets_are_those_of_least_squares(seed):
    X, y = make_sparse_sum(random_state=seed)
    scores, holds = [], []
    for mask in range(1024):
        columns = [j for j in range(10) if mask >> j & 1]
        design = np.column_stack([np.ones(50), X[:, columns]])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        scores.append(50 * np.log(residual @ residual / 50) + 2 * len(columns))
        holds.append({1, 4, 7} <= set(columns))
    scores, holds = np.array(scores), np.array(holds)
    best = int(np.argmin(scores))
    values = run_method("groups of subsets", draw("zhu toy", seed), seed)
    assert values["wrong"] == 100.0 * (best != 2**1 + 2**4 + 2**7)
    assert values["close"] == np.sum(scores <= scores.min() + 2.0)
    assert values["overlap"] == pytest.approx(
        100.0 * np.mean(scores[holds] >= scores[~holds].min())
    )
    assert values["wrong"] == run_method("all subsets, AIC", draw("zhu toy", seed), seed)["missed"]


@pytest.mark.large
def test_votes_are_counted_universe_by_universe():
    data = draw("zhu toy", 6)
    values = run_method("votes of universes", data, 6)
    selector = ParallelEvolutionSelector(n_universes=10, n_generations=6, random_state=6)
    subsets = selector.fit(data.X, data.y).subsets_
    for column in range(10):
        for n in (1, 4, 10):
            assert values[f"x{column + 1}@{n}"] == subsets[:n, column].sum()
    votes = subsets.sum(axis=0)
    assert values["lacking"] == 10 - min(votes[[1, 4, 7]])
    falling = sorted(votes[[0, 2, 3, 5, 6, 8, 9]], reverse=True)
    assert [values["spurious"], values["spurious, second"]] == falling[:2]


@pytest.mark.large
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", column_selection.SELECTIONS)
def test_selections_find_columns_that_stand_out(name):
    X, y = make_sparse_sum(200, noise=0.01, random_state=0)
    values = run_method(name, TrainTestData(X, y, X, y, (1, 4, 7)), 0)
    assert values["absent"] == 0.0


def test_mistakes_are_summarised_by_lines():
    counts = np.array([[5.0, 9.0], [2.0, 6.0], [30.0, 40.0]])
    values = settings._best_and_lines(counts)
    assert values == {"best": 2.0, "by line": 28.0, "within a line": 4.0}


def test_mistakes_over_settings_are_those_of_each_machine():
    whole = draw("threenorm", 0)
    data = TrainTestData(whole.X[:60], whole.y[:60], whole.X_test[:200], whole.y_test[:200])
    widths, penalties = np.array([0.01, 1.0]), np.array([0.5, 10.0])
    values = settings.machines(False, data, 0, widths, penalties)
    for h in (0.01, 1.0):
        for C in (0.5, 10.0):
            machine = SVC(gamma=h, C=C).fit(data.X, data.y)
            mistakes = np.sum(machine.predict(data.X_test) != data.y_test)
            assert values[f"h = {h:g}@{C:g}"] == pytest.approx(mistakes, abs=1)
    of_forests = settings.forests(data, 0, features=(1, 20, 57), trees=(2, 100))
    assert {key for key in of_forests if "@" in key} == {
        f"m = {m}@{n}" for m in (1, 20) for n in (2, 100)
    }
    assert of_forests["best"] == min(of_forests["m = 1@100"], of_forests["m = 20@100"])


def test_a_kernel_component_is_the_radius_and_no_linear_one_is():
    data = draw("zhu spheres", 0)
    values = {name: run_method(name, data, 0) for name in ("PCA", "kernel matrix", "KernelPCA")}
    assert values["kernel matrix"]["component 1"] < 10.0
    assert values["PCA"]["component 1"] > 50.0
    assert values["KernelPCA"]["component 1"] > 50.0
    radius = np.linalg.norm(data.X, axis=1)
    K = np.exp(-np.sum((data.X[:, None] - data.X) ** 2, axis=2))
    rank = abs(spearmanr(np.linalg.eigh(K)[1][:, -1], radius)[0])
    assert values["kernel matrix"]["component 1"] == pytest.approx(100.0 * (1.0 - rank))


def test_curves_are_means_with_bars():
    records = [
        Record(Cell("a", "m", seed), {"error": 1.0, "e@1": 1.0 + seed, "e@2": 5.0, "f@3": 0.0})
        for seed in range(3)
    ]
    curve = mean_curve(records, "e")
    assert_array_equal(curve.x, [1.0, 2.0])
    assert_array_equal(curve.mean, [2.0, 5.0])
    assert curve.bar == pytest.approx([1.96 / np.sqrt(3.0), 0.0])
    assert list(mean_curves(records)) == ["e", "f"]
    assert mean_curves([]) == {}
    assert mean_curve(records[:1], "e").bar.tolist() == [0.0, 0.0]
    assert records_of_method(records, "m", "b") == []
    assert records_of_method(records, "m") == records


def made_up(data, method, seed):
    """Return a record with made-up values of a method."""
    rng = np.random.default_rng(seed)
    names = {
        "digits": ["RBF", "learned", "transductive"],
        "votes of universes": [f"x{j}@{b}" for j in range(1, 11) for b in range(1, 11)],
        "SVM over h": [f"h = {h}@{C}" for h in (0.1, 1.0) for C in (1, 10)],
        "forests over m": [f"m = {m}@{B}" for m in (1, 7) for B in (10, 100)],
        "LAGO": [f"hits@{at:g}" for at in np.arange(0.0, 3.1, 0.25)],
    }
    of_perceptrons = [f"error@{e}" for e in range(1, 11)] + [f"online@{v}" for v in (10, 30)]
    keys = names.get(method, of_perceptrons)
    return Record(
        Cell(data, method, seed), dict(zip(keys, 9.0 * rng.random(len(keys)), strict=True))
    )


SHOWN = {
    "perceptrons": ("crammer synthetic", ["Perceptron", "Perceptron, learned"]),
    "pairs of digits": ("usps pairs", ["digits"]),
    "settings": ("spam of zhu", ["SVM over h", "forests over m"]),
    "votes": ("zhu toy", ["votes of universes"]),
    "hits": ("yeast, ME1", ["LAGO"]),
    "projections": ("crammer synthetic", []),
    "kernel components": ("zhu spheres", []),
    "all subsets": ("zhu toy", []),
}


@pytest.mark.large
@pytest.mark.parametrize("name", SHOWN)
def test_pictures_have_labelled_axes_and_leave_pyplot_alone(name, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    data, methods = SHOWN[name]
    figure = PICTURES[name]([made_up(data, method, k) for method in methods for k in range(3)])
    assert plt.get_fignums() == before
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    assert panels
    for panel in panels:
        assert panel.get_xlabel()
        assert panel.get_ylabel()
    figure.savefig(tmp_path / "figure.png", dpi=30)
    assert (tmp_path / "figure.png").stat().st_size > 1000


@pytest.mark.large
@pytest.mark.parametrize("name", [name for name, (_, methods) in SHOWN.items() if methods])
def test_pictures_of_no_records_are_drawn(name):
    pytest.importorskip("matplotlib")
    assert PICTURES[name]([]).axes


def test_equal_numbers_without_spread_agree():
    zero = Mean(0.0, 0.0, 100)
    assert PublishedComparison(zero, zero).verdict is Verdict.WITHIN
    assert PublishedComparison(zero, Mean(1.0, 0.0, 100)).verdict is Verdict.BETTER


def test_no_method_has_the_name_of_a_data_set():
    assert set(RARE_CLASSES) <= set(GENERATORS)
    assert not set(GENERATORS) & set(METHODS)


@pytest.mark.large
def test_the_automatic_machine_ranks_the_same_twice():
    data = draw("twonorm-n", 0)
    signs = data._replace(y=(data.y > 0).astype(int), y_test=(data.y_test > 0).astype(int))
    first, second = (run_method("auto ranking", signs, 0) for _ in range(2))
    assert first["lost"] == second["lost"]
