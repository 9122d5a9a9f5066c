"""Reports of models that the reader can change."""

from functools import cache

from report.models import GRID, cancer, every_model, stumps
from report.pages import opened

from kernsemble.report import Report
from kernsemble.svm import InfiniteEnsembleClassifierCV

EVIL = "<img src=x onerror=alert(1)>"
ADDITIVE = {"solver": "additive", "loss": "logistic"}


@cache
def report(name):
    """Return the model of a report, its report, and the rows that it scores."""
    if name == "stumps":
        X, X_test, y, y_test = cancer()
        found = Report.from_estimator(stumps(), X, y, X_test=X_test, y_test=y_test)
        return stumps(), found, X, X_test
    model, X, y = every_model()[name]
    if name == "mixed":
        X = X.assign(region=X["region"].astype(object).replace("north", EVIL))
        model = InfiniteEnsembleClassifierCV("stump", Cs=GRID, cv=3, **ADDITIVE).fit(X, y)
    return model, Report.from_estimator(model, X, y), X, X


def page_of(browser, folder, name, **settings):
    path = folder / f"{name}.html"
    if not path.exists():
        report(name)[1].write(path)
    return opened(browser, path, **settings)
