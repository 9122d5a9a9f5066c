"""
Inspecting an SVM as an ensemble of stumps
==========================================

A support vector machine with the stump kernel is a weighted vote of infinitely many stumps. This
example shows that vote for the breast-cancer data: the weight of every stump, the shape functions
that the stumps add up to, and the contributions of features to one prediction. Positive decision
values mean malignant.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.inspection import (
    ContributionDisplay,
    DecisionBoundaryDisplay,
    EnsembleDisplay,
    EnsembleView,
    MarginDisplay,
    ShapeDisplay,
    compare_ensembles,
)
from kernsemble.kernels import Laplacian
from kernsemble.svm import InfiniteEnsembleClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = InfiniteEnsembleClassifier().fit(X, y)
view = EnsembleView.from_estimator(model, X)
print(view.label)
print(view.importances().to_frame().head(6).round(3))

# %%
# Stump densities
# ---------------
# The density of the stumps on a feature is a step function of the threshold with knots at the
# support vectors. Where it is positive, stumps vote "malignant" above their threshold.

features = list(view.importances().to_frame().index[:3])
EnsembleDisplay.from_estimator(model, features=features)
plt.show()

# %%
# Shape functions
# ---------------
# The slope of a shape function is twice the density. The decision value of a row is the intercept
# plus the shape functions at its features.

ShapeDisplay.from_estimator(model, X, features=features)
plt.show()

# %%
# Contributions to one prediction
# -------------------------------
# The contributions are exact Shapley values, at the cost of a look-up.

ContributionDisplay.from_estimator(model, X, row=20)
plt.show()

# %%
# An SVM with the Laplacian kernel, an ensemble of trees, is not a sum over features. Its kernel is
# a product over features, so its Shapley values are exact, too.

trees = InfiniteEnsembleClassifier(Laplacian()).fit(X, y)
display = ContributionDisplay.from_estimator(trees, X, row=20)
print(display.explanation.method)
plt.show()

# %%
# Comparison with a finite ensemble
# ---------------------------------
# AdaBoost selects few stumps. On most features the contributions of both models are similar.

boosted = AdaBoostClassifier(n_estimators=100).fit(X, y)
comparison = compare_ensembles(view, EnsembleView.from_estimator(boosted, X), X)
print(comparison.to_frame().loc[features].round(2))
print(f"same class for {100 * comparison.agreement:.1f} % of the patients")

figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
MarginDisplay.from_estimator(model, X, y, name="every stump", ax=panels[0])
MarginDisplay.from_estimator(boosted, X, y, name="AdaBoost", ax=panels[1])
plt.show()

# %%
# Decision boundary
# -----------------
# With two features, the decision boundary can be plotted with the training rows.

plane = ["worst texture", "worst radius"]
flat = InfiniteEnsembleClassifier().fit(X[plane], y)
DecisionBoundaryDisplay.from_estimator(flat, X[plane], y)
plt.show()
