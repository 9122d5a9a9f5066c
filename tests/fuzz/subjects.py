"""The scenes of the fuzzer: every public function on hostile arguments, and their shares."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.data import HUGE_COUNT, WRONG_SETTINGS, Draw, n_rows
from fuzz.estimators import KERNELS, NAMES
from fuzz.fitting import MODELS, any_fit, any_prediction
from fuzz.outcomes import Call, Scene

from kernsemble import datasets, kernels, selection
from kernsemble.detection import HitCurve, average_precision, hit_curve
from kernsemble.export import from_json, javascript_reader, to_json, to_sql
from kernsemble.inspection import (
    AverageEffect,
    EnsembleView,
    StumpDensity,
    TrainingCurves,
    by_class,
    compare_ensembles,
    feature_importances,
)
from kernsemble.preprocessing import FeatureScaling, IndicatorScaling
from kernsemble.report import Summary
from kernsemble.streaming import Blocks
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor, MultiplicativeSVC


def kernel_values(draw: Draw) -> Scene:
    """Bind a kernel to hostile rows, and compare others."""
    kernel = draw.one_of(KERNELS)
    X = draw.rows()
    weight = draw.weights(n_rows(X))
    bound = yield Call(f"{_kind(kernel)}.bind", kernel.bind, (X, weight), essence=_nothing)
    if bound is None:
        return
    yield Call("repr", repr, (bound,))
    yield Call("pickle", lambda bound: pickle.loads(pickle.dumps(bound)) == bound, (bound,))
    yield Call("deepcopy", lambda bound: hash(copy.deepcopy(bound)) == hash(bound), (bound,))
    for _ in range(4):
        Y = draw.rows_like(X)
        yield Call(f"{_kind(kernel)}()", bound, (Y,))
        yield Call(f"{_kind(kernel)}(Y, X)", bound, (Y, X))
        yield Call(f"{_kind(kernel)}.diagonal", bound.diagonal, (Y,))
    if hasattr(bound, "distances"):
        yield Call(f"{_kind(kernel)}.distances", bound.distances, (Y, X))
        D = draw.rows(hostility=0.8)
        yield Call(f"{_kind(kernel)}.from_distances", bound.from_distances, (D,))
    if not bound.is_conditional:
        yield Call("GP", lambda Y: bound.as_gaussian_process_kernel()(Y), (Y,))
    place = _out(draw, Y)
    yield Call(f"{_kind(kernel)}(out)", lambda Y: bound(Y, out=place), (Y,), repeats=False)
    seed = int(draw.rng.integers(9))
    yield Call(f"{_kind(kernel)}.hypotheses", _votes, (bound, seed))


def _out(draw: Draw, Y: Any) -> Any:
    n = n_rows(Y)
    return draw.one_of(
        [np.empty((n, n)), np.empty((n, n), "f4"), np.empty((n + 1, n)), np.empty((n, n), int), "x"]
    )


def _kind(kernel: Any) -> str:
    return f"{type(kernel).__name__}"


def _nothing(answer: Any) -> None:
    """Return nothing, for answers without numbers."""


def _votes(kernel: Any, seed: int) -> Any:
    """Return the votes of five hypotheses at the origin."""
    drawn = kernel.hypotheses and kernel.hypotheses.sample(5, np.random.default_rng(seed))
    return drawn and drawn.vote(np.zeros((1, kernel.n_features)))


def kernel_arguments(draw: Draw) -> Scene:
    """Make kernels with wrong arguments, and combine them."""
    names = ["Stump", "Perceptron", "Laplacian", "Gaussian", "Exponential", "Polynomial"]
    names += ["Constant", "StumpRegion", "DecisionTree", "Mixed"]
    for _ in range(6):
        name, argument = draw.one_of(names), draw.one_of(WRONG_SETTINGS)
        make = getattr(kernels, name)
        yield Call(f"{name}(wrong)", make, (argument,), essence=_nothing)
        yield Call(
            "as_kernel", kernels.as_kernel, (draw.one_of([*NAMES, argument]),), essence=_nothing
        )
        kernel = draw.one_of(KERNELS)
        yield Call("on", kernel.on, (argument,), essence=_nothing)
        other = draw.one_of(KERNELS)
        yield Call(
            "number * kernel", lambda a, b: a * b, (draw.one_of(FACTORS), kernel), essence=_nothing
        )
        for sign, operate in OPERATIONS.items():
            yield Call(f"kernel {sign} other", operate, (kernel, other), essence=_nothing)
        yield Call("logic", lambda kernel: kernel.logic, (kernel,), essence=_nothing)
        yield Call("full", lambda kernel: kernel.full, (kernel,), essence=_nothing)


FACTORS = [0, 1, -1, 2.5, np.nan, np.inf, 1e308, 5e-324, True, np.float64(3.0), 10**400]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
}


def matrices(draw: Draw) -> Scene:
    """Distances, and functions of kernel matrices."""
    X = draw.rows()
    for _ in range(3):
        Y = draw.rows_like(X)
        for function in (kernels.l1_distances, kernels.l2_distances):
            yield Call(function.__name__, function, (X, Y))
            yield Call(function.__name__, function, (Y,))
    n = draw.count(12)
    for _ in range(3):
        K, L = draw.rows(n, n, 0.7), draw.rows(n, n, 0.5)
        yield Call("centre", kernels.centre, (K,))
        yield Call("alignment", kernels.alignment, (K, L))
        tol = draw.one_of([None, 1e-9, -1, "x", np.nan])
        yield Call("definiteness", kernels.definiteness, (K, tol), essence=lambda found: found.kind)
        symmetric = draw.numbers(n, n)
        symmetric = np.minimum(symmetric, symmetric.T)
        yield Call("definiteness", kernels.definiteness, (symmetric,), is_finite=n > 1)
        yield Call("alignment", kernels.alignment, (symmetric, symmetric))


def rankings(draw: Draw) -> Scene:
    """Average precision and hit curves."""
    for _ in range(5):
        n = draw.count()
        y, scores, weight = draw.classes(n), draw.numeric_target(n, 0.7), draw.weights(n)
        label = draw.one_of([0, 1, 1, 1, True, "red", None, 2.5])
        settings = {"pos_label": label, "sample_weight": weight}
        yield Call("average_precision", average_precision, (y, scores), settings)
        curve = yield Call("hit_curve", hit_curve, (y, scores), settings)
        if curve is not None:
            yield Call(
                "HitCurve.hits", curve.hits, (draw.numbers(3, 1, 0.3)[:, 0],), is_finite=False
            )
    yield Call("HitCurve", lambda: HitCurve(np.arange(3.0), np.arange(3.0)).hits([1.5]))


CRITERIA = ["aic", "bic", "gcv", "logistic-aic", "logistic-bic", "poisson-aic", "cox-bic"]


def subset_searches(draw: Draw) -> Scene:
    """Subset searches, and the largest gap."""
    n = draw.count()
    X = draw.rows(n, draw.one_of([1, 2, 4]), 0.6)
    criterion = draw.one_of([*CRITERIA, *CRITERIA, "nonsense", None, 3])
    is_class = criterion in ("logistic-aic", "logistic-bic") and draw.chance(0.8)
    y = draw.classes(n, 0.2) if is_class else draw.numeric_target(n, 0.4)
    if criterion == "cox-bic" and draw.chance(0.8):
        y = np.stack([np.abs(draw.rng.normal(size=n)), draw.rng.random(n) < 0.5], axis=1)
    weight = {"sample_weight": draw.weights(n)}
    yield Call(
        "exhaustive_search", selection.exhaustive_search, (X, y, criterion), weight, is_finite=False
    )
    yield Call(
        "stepwise_search", selection.stepwise_search, (X, y, criterion), weight, is_finite=False
    )
    settings = {"n_samples": 2, "random_state": 0}
    yield Call(
        "bagged_stepwise_search", selection.bagged_stepwise_search, (X, y, criterion), settings
    )
    yield Call("largest_gap", selection.largest_gap, (draw.numeric_target(n, 0.7),))


MAKERS = [
    "make_mixed_table", "make_ringnorm", "make_rotated_gaussians", "make_sparse_sum",
    "make_spheres", "make_threenorm", "make_twonorm", "make_xor",
]  # fmt: skip
SIZES = [*(each for each in WRONG_SETTINGS if each is not HUGE_COUNT), 1, 2, 3, 5]


def toys(draw: Draw) -> Scene:
    """Generators of data with hostile arguments."""
    for _ in range(4):
        name = draw.one_of(MAKERS)
        make = getattr(datasets, name)
        settings = {"random_state": draw.one_of([0, 0, 1, -1, "x", 1.5])}
        if name not in ("make_xor", "make_mixed_table") and draw.chance(0.5):
            settings["n_features"] = draw.one_of(SIZES)
        for option in ("flip", "noise", "missing", "sigma", "long_axis", "informative"):
            if option in make.__code__.co_varnames and draw.chance(0.3):
                settings[option] = draw.one_of([0.0, 0.5, 1.0, *WRONG_SETTINGS])
        # a table of mixed columns has missing values
        yield Call(
            name, make, (draw.one_of(SIZES),), settings, is_finite=name != "make_mixed_table"
        )
    wrong = [*WRONG_SETTINGS, "breast", "../etc", "a" * 300, "\0"]
    yield Call("load", datasets.load, (draw.one_of(wrong),), essence=_nothing)
    yield Call("list_datasets", lambda: len(datasets.list_datasets()))


def scalings(draw: Draw) -> Scene:
    """Scalings of checked rows, as estimators pass them."""
    n, d = draw.count(), draw.width()
    X = draw.numbers(n, d, 0.8)
    X[np.isinf(X)] = 0.0
    weight = np.ones(n) if draw.chance(0.5) else draw.rng.integers(0, 2, n).astype(float)
    weight[0] = 1.0
    Z = draw.numbers(draw.count(5), d, 0.8)
    Z[np.isinf(Z)] = 0.0
    has_missing = bool(np.isnan(X).any() or np.isnan(Z).any())
    for kind in ("range", "rank", "distinct", None, "nonsense"):
        scaling = yield Call(
            "FeatureScaling.from_rows",
            FeatureScaling.from_rows,
            (X, kind, weight),
            essence=_nothing,
        )
        if scaling is not None:
            yield Call(
                "FeatureScaling.transform", scaling.transform, (Z,), is_finite=not has_missing
            )
    is_category = np.zeros(d, dtype=bool)
    scaling = yield Call(
        "IndicatorScaling.from_rows",
        IndicatorScaling.from_rows,
        (X, weight, is_category),
        essence=_nothing,
    )
    if scaling is not None:
        yield Call("IndicatorScaling.transform", scaling.transform, (Z,))


def views(draw: Draw) -> Scene:
    """Explain a fitted model on hostile rows."""
    model, X = draw.one_of(MODELS)()
    name = type(model).__name__
    machine = draw.one_of([None, None, 0, 1, "x", -1, 1.5])
    rows = draw.one_of([None, X, draw.rows_like(X)])
    view = yield Call(
        f"EnsembleView of {name}",
        lambda rows: EnsembleView.from_estimator(model, rows, machine),
        (rows,),
        essence=_nothing,
    )
    yield Call("by_class", lambda: type(by_class(model)).__name__)
    if view is None:
        return
    feature = draw.one_of([0, -1, 1, "age", "x0", 99, None, 1.5])
    Z = draw.rows_like(X, 0.8)
    settings = {"n_background": draw.one_of([1, 3, 0]), "n_permutations": 2, "random_state": 0}
    settings["method"] = draw.one_of(["auto", "exact", "sampled", "x"])
    yield Call("explain", view.explain, (Z,), settings, essence=lambda each: each.contributions)
    yield Call("shape", view.shape, (feature,), is_finite=False)
    settings = feature, draw.one_of([2, 0, 5]), 2
    yield Call("average_effect", view.average_effect, settings, essence=lambda each: each.effects)
    yield Call("importances", lambda: view.importances(n_background=2, n_rows=2).shares)
    yield Call("margins", lambda Z: view.margins(Z, draw.classes(3)), (Z,), repeats=False)
    yield Call("averaged_stumps", view.averaged_stumps, (), essence=_nothing)
    yield Call("hypotheses", view.hypotheses, (), essence=lambda each: each.weights)
    yield Call("pairs", lambda: len(view.pairs()))
    yield Call("shape_frame", view.shape_frame, (), is_finite=False)
    yield Call("density_frame", view.density_frame, (), is_finite=False)
    direction = draw.numbers(1, 3, 0.8)[0]
    yield Call("perceptron_density", view.perceptron_density, (direction,), essence=_nothing)
    yield Call("compare_ensembles", lambda Z: compare_ensembles(view, view, Z).distance, (Z,))
    if draw.chance(0.3):
        yield Call("feature_importances", lambda Z: feature_importances(model, Z), (Z,))


def plain_numbers(draw: Draw) -> Scene:
    """Functions of the views on arrays of their own."""
    n = draw.count(8)
    arrays = [draw.numbers(1, n, 0.5)[0] for _ in range(4)]
    density = yield Call(
        "StumpDensity", StumpDensity.from_intervals, tuple(arrays), is_finite=False
    )
    if density is not None and all(np.isfinite(each).all() for each in arrays):
        yield Call("StumpDensity.shape", density.shape, (), essence=_nothing)
    yield Call("AverageEffect", AverageEffect, tuple(arrays), essence=_nothing)


def curves(draw: Draw) -> Scene:
    """Training curves of a multiplicative machine."""
    n = draw.count(12)
    X, y = draw.rows(n, hostility=0.5), draw.classes(n, 0.3)
    machine = MultiplicativeSVC(draw.one_of(["stump", "gaussian"]), tol=0.5)
    settings = {"machine": machine, "rates": draw.one_of([[0.01], [], [-1], [1e300], None])}
    settings["n_steps"] = draw.one_of([1, 5, 0])
    yield Call("TrainingCurves", TrainingCurves.from_data, (X, y), settings, is_finite=False)


DOCUMENTS = ["", "{}", "[]", "null", "1", '{"format": "kernsemble"}', "{" * 500, "\0", "nan"]


def exports(draw: Draw) -> Scene:
    """Export fitted models, and read damaged documents."""
    model, X = draw.one_of(MODELS)()
    name = type(model).__name__
    document = yield Call(f"to_json of {name}", to_json, (model,))
    dialect = draw.one_of(["duckdb", "sqlite", "oracle", None])
    table = draw.one_of(["rows", "", 'a"b', "x; drop table y", None, 3])
    keep = draw.one_of([(), ("id",), ("",), (3,), None, "id"])
    settings = {"dialect": dialect, "table": table, "keep": keep}
    yield Call(f"to_sql of {name}", to_sql, (model,), settings)
    yield Call("javascript_reader", javascript_reader, (draw.chance(0.5),))
    yield Call("from_json", from_json, (draw.one_of(DOCUMENTS),), essence=_nothing)
    if document is None:
        return
    damaged = _damaged(draw, document)
    reader = yield Call("from_json of damage", from_json, (damaged,), essence=_nothing)
    portable = from_json(document) if reader is None else reader
    for _ in range(2):
        Z = draw.rows_like(X, 0.8)
        methods = ("values", "decision_function", "predict", "predict_proba", "contributions")
        for method in methods:
            read = getattr(portable, method)
            yield Call(f"PortableModel.{method}", read, (Z,), is_finite=reader is None)


def _damaged(draw: Draw, document: str) -> str:
    """Return a document with a piece removed, doubled or replaced."""
    place = int(draw.rng.integers(len(document)))
    end = place + int(draw.rng.integers(1, 20))
    piece = draw.one_of(["", "null", "-1", "1e999", '"x"', "[]", document[place:end] * 2])
    return document[:place] + piece + document[end:]


def streams(draw: Draw) -> Scene:
    """Fit hostile rows in blocks."""
    n, d = draw.count(12), draw.width()
    is_class = draw.chance(0.5)
    cls = InfiniteEnsembleClassifier if is_class else InfiniteEnsembleRegressor
    target = draw.classes if is_class else draw.numeric_target
    blocks = []
    for _ in range(draw.one_of([0, 1, 2, 3])):
        block = (draw.rows(n, d, 0.5), target(n, 0.2))
        blocks.append(block if draw.chance(0.8) else (*block, draw.weights(n)))
    read = draw.one_of([blocks, lambda: iter(blocks), iter(blocks), lambda: None, [1], None])
    loss = draw.one_of(["auto", "squared"]) if is_class else "squared"
    model = cls(solver=draw.one_of(["additive", "auto", "local", "exact"]), loss=loss)
    probe = draw.rows(3, d, 0.0)
    yield Call(
        f"{cls.__name__}.fit(Blocks)",
        lambda: model.fit(Blocks(read)).predict(probe),
        repeats=hasattr(read, "__len__") or callable(read),
    )


def summaries(draw: Draw) -> Scene:
    """Numbers of a report."""
    model, X = draw.one_of(MODELS[:5])()
    Z = X if draw.chance(0.5) else draw.rows_like(X, 0.5)
    y = draw.classes(n_rows(Z), 0.5)
    yield Call("Summary", Summary.from_estimator, (model, Z, y), essence=_nothing, repeats=False)


SCENES: list[tuple[Callable[[Draw], Scene], float]] = [
    (any_fit, 30.0),
    (any_prediction, 25.0),
    (kernel_values, 20.0),
    (kernel_arguments, 4.0),
    (matrices, 5.0),
    (rankings, 4.0),
    (subset_searches, 4.0),
    (toys, 4.0),
    (scalings, 4.0),
    (views, 4.0),
    (plain_numbers, 2.0),
    (curves, 1.0),
    (exports, 4.0),
    (streams, 2.0),
    (summaries, 0.1),
]


def scene(seed: int, number: int) -> tuple[str, Scene]:
    """Return the name and the calls of a scene, which the two numbers determine."""
    draw = Draw(np.random.default_rng([seed, number]))
    shares = np.array([share for _, share in SCENES])
    play = SCENES[draw.rng.choice(len(SCENES), p=shares / shares.sum())][0]
    return play.__name__, play(draw)
