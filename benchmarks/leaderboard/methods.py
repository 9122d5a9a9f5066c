"""The methods of the leaderboard, at their defaults.

Each is a function of the mask of categorical columns, a random seed and the task, and returns
an estimator for a DataFrame. Categories and missing values are passed on unchanged to methods
that support them, and are one-hot encoded and replaced by medians for the others.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import joblib
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

OURS = "auto"
N_THREADS = 2

Method: TypeAlias = Callable[[np.ndarray, int, str], Any]


def auto(is_category: np.ndarray, seed: int, task: str) -> Any:  # noqa: ARG001
    """Return our estimator, which selects kernel, scaling and C."""
    from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV

    machine = _of(task, InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV)
    return machine(kernel="auto", random_state=seed)


def forest(is_category: np.ndarray, seed: int, task: str) -> Any:
    """Return scikit-learn's random forest."""
    trees = _of(task, RandomForestClassifier, RandomForestRegressor)
    return make_pipeline(numeric(is_category), trees(n_jobs=N_THREADS, random_state=seed))


def extra_trees(is_category: np.ndarray, seed: int, task: str) -> Any:
    """Return scikit-learn's extremely randomised trees."""
    trees = _of(task, ExtraTreesClassifier, ExtraTreesRegressor)
    return make_pipeline(numeric(is_category), trees(n_jobs=N_THREADS, random_state=seed))


def boosting(is_category: np.ndarray, seed: int, task: str) -> Any:
    """Return scikit-learn's gradient boosting on histograms."""
    machine = _of(task, HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    return machine(categorical_features=is_category, random_state=seed)


def lightgbm(is_category: np.ndarray, seed: int, task: str) -> Any:  # noqa: ARG001
    """Return LightGBM, which finds the categories in the table."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    machine = _of(task, LGBMClassifier, LGBMRegressor)
    return machine(verbose=-1, n_jobs=N_THREADS, random_state=seed)


def xgboost(is_category: np.ndarray, seed: int, task: str) -> Any:  # noqa: ARG001
    """Return XGBoost, which finds the categories in the table."""
    from xgboost import XGBClassifier, XGBRegressor

    machine = _of(task, XGBClassifier, XGBRegressor)
    return machine(enable_categorical=True, n_jobs=N_THREADS, random_state=seed)


def catboost(is_category: np.ndarray, seed: int, task: str) -> Any:
    """Return CatBoost, with categories as text."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    machine = _of(task, CatBoostClassifier, CatBoostRegressor)(
        verbose=0,
        thread_count=N_THREADS,
        allow_writing_files=False,
        random_seed=seed,
        cat_features=np.flatnonzero(is_category).tolist(),
    )
    return make_pipeline(FunctionTransformer(categories_as_text), machine)


def ebm(is_category: np.ndarray, seed: int, task: str) -> Any:
    """Return the explainable boosting machine of the package interpret."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kinds = ["nominal" if each else "continuous" for each in is_category]
    machine = _of(task, ExplainableBoostingClassifier, ExplainableBoostingRegressor)
    return machine(feature_types=kinds, n_jobs=N_THREADS, random_state=seed)


def svm(is_category: np.ndarray, seed: int, task: str) -> Any:
    """Return a support vector machine with the Gaussian kernel, tuned by grid search."""
    machine = GaussianSVC(seed) if task == "classification" else _standardised(GaussianSVR(seed))
    return make_pipeline(numeric(is_category), StandardScaler(), machine)


def linear(is_category: np.ndarray, seed: int, task: str) -> Any:
    """Return logistic or ridge regression, with the penalty selected by cross-validation."""
    if task == "regression":
        machine: Any = RidgeCV(alphas=np.logspace(-3.0, 3.0, 13))
    else:
        machine = LogisticRegressionCV(
            scoring="neg_log_loss",
            l1_ratios=(0.0,),
            use_legacy_attributes=False,
            max_iter=500,
            random_state=seed,
        )
    return make_pipeline(numeric(is_category), StandardScaler(), machine)


METHODS: dict[str, Method] = {
    OURS: auto,
    "forest": forest,
    "extra_trees": extra_trees,
    "boosting": boosting,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "linear": linear,
    "catboost": catboost,
    "svm": svm,
    "ebm": ebm,
}


def numeric(is_category: np.ndarray) -> Any:
    """Return the one-hot encoding of categories, and numbers without missing values."""
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (one_hot, np.flatnonzero(is_category)),
        (SimpleImputer(strategy="median"), np.flatnonzero(~is_category)),
    )


def categories_as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose categories are text, "missing" where there is none."""
    kinds = table.dtypes.items()
    names = [name for name, kind in kinds if isinstance(kind, pd.CategoricalDtype)]
    texts = {name: table[name].astype(object).fillna("missing") for name in names}
    return table.assign(**texts)


class _TunedMachine(BaseEstimator):
    """A machine with the Gaussian kernel; C and gamma are selected by three-fold search.

    The search is on at most 2,000 rows; the machine is then fitted to all.
    """

    machine: Any
    most_rows = 2_000
    penalties = (0.1, 1.0, 10.0, 100.0)
    gammas = (0.2, 1.0, 5.0)  # as multiples of gamma="scale"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _tuned(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Return an unfitted machine with the best parameters."""
        classes = y if self.machine is SVC else None
        if len(y) > self.most_rows:
            size, seed = self.most_rows, self.seed
            rows, _ = train_test_split(
                np.arange(len(y)), train_size=size, stratify=classes, random_state=seed
            )
            X, y = X[rows], y[rows]
        scale = 1.0 / (X.shape[1] * X.var())
        grid = {"C": self.penalties, "gamma": [factor * scale for factor in self.gammas]}
        with joblib.parallel_config("threading"):
            search = GridSearchCV(self.machine(), grid, cv=3, n_jobs=N_THREADS, refit=False)
            search.fit(X, y)
        return self.machine(**search.best_params_)


class GaussianSVC(ClassifierMixin, _TunedMachine):
    """Support vector classification, with probabilities of Platt's sigmoid."""

    machine = SVC

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Select parameters, and fit the machine and its sigmoid."""
        folds = StratifiedKFold(3, shuffle=True, random_state=self.seed).split(X, y)
        calibrated = CalibratedClassifierCV(
            self._tuned(X, y), ensemble=False, cv=list(folds), n_jobs=N_THREADS
        )
        with joblib.parallel_config("threading"):
            self.calibrated_ = calibrated.fit(X, y)
        self.classes_ = calibrated.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict classes, those of the machine itself."""
        return self.calibrated_.calibrated_classifiers_[0].estimator.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Predict probabilities of classes."""
        return self.calibrated_.predict_proba(X)


class GaussianSVR(_TunedMachine):
    """Support vector regression."""

    machine = SVR

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Select parameters and fit the machine."""
        self.machine_ = self._tuned(X, y).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict numbers."""
        return self.machine_.predict(X)


def _standardised(machine: Any) -> Any:
    return TransformedTargetRegressor(machine, transformer=StandardScaler(), check_inverse=False)


def _of(task: str, classifier: Any, regressor: Any) -> Any:
    return classifier if task == "classification" else regressor
