"""
Finding what is rare
====================

A rare class, a background that is everywhere, and the question which rows to look at first. LAGO
puts a kernel on every rare row, as wide as the background is far from it: a stone that stands free
on the board of Go controls more of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from kernsemble.detection import HitCurveDisplay, LagoClassifier, average_precision

# %%
# The radii
# ---------
# Fifteen rare rows on two clouds, one within the background and one beside it. The circles are
# the radii: the mean distance to the five nearest background rows.

rng = np.random.default_rng(0)
background = rng.normal(size=(400, 2)) * [1.6, 1.0]
rare = np.concatenate([rng.normal(0.4, 0.3, (7, 2)), rng.normal([3.2, 2.2], 0.4, (8, 2))])
X, y = np.concatenate([background, rare]), np.repeat([0, 1], [400, 15])
detector = LagoClassifier(scaling=None).fit(X, y)

axis = np.linspace(-5.0, 5.5, 150), np.linspace(-4.0, 4.5, 150)
horizontal, vertical = np.meshgrid(*axis)
scores = detector.score_samples(np.column_stack([horizontal.ravel(), vertical.ravel()]))

figure, panel = plt.subplots(figsize=(8, 6), layout="constrained")
levels = np.linspace(-12.0, 0.0, 13)
panel.contourf(*axis, np.maximum(scores, -12.0).reshape(horizontal.shape), levels, cmap="Blues")
panel.contour(
    *axis, scores.reshape(horizontal.shape), detector.threshold_, colors="black", linestyles="--"
)
panel.scatter(*background.T, s=6, c="#888888")
panel.scatter(*rare.T, s=16, c="#b2182b")
for centre, radius in zip(rare, detector.kernels_[0].widths[:, 0], strict=True):
    panel.add_patch(plt.Circle(centre, radius, fill=False, color="#b2182b", linewidth=0.8))
panel.set(aspect="equal", title="the logarithm of the score; dashed: what predict calls rare")
plt.show()

# %%
# A few eights among many digits
# ------------------------------
# Fifty eights are left among the others. Half of the rows are learned from, the other half is
# ranked: the hit curve tells how many eights are among the first n.

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
dropped = rng.permutation(np.flatnonzero(digits == 8))[50:]
X, y = np.delete(images, dropped, axis=0), np.delete(digits == 8, dropped).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

models = {
    "LAGO": LagoClassifier(),
    "SVC": SVC(class_weight="balanced"),
    "random forest": RandomForestClassifier(class_weight="balanced_subsample", random_state=0),
}
figure, panel = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, model in models.items():
    HitCurveDisplay.from_estimator(model.fit(X_train, y_train), X_test, y_test, name=name, ax=panel)
panel.set_xlim(0, 100)
plt.show()

# %%
# LAGO has nothing to solve: one search for neighbours serves every fold and every width that is
# tried. Its scores of held-out rows are kept, and estimate its precision without test rows; with 25
# rare rows on either side, roughly.

lago = models["LAGO"]
print(f"alpha {lago.alpha_[0]:.2f}")
print(f"average precision, held-out rows: {lago.best_score_[0]:.2f}")
print(f"average precision, test rows: {average_precision(y_test, lago.score_samples(X_test)):.2f}")
