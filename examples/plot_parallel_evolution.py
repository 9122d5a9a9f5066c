"""
Variable selection by parallel evolution
========================================

Three of ten columns determine y, and there are fifty rows. The usual method, minimising a criterion
such as AIC over subsets of columns, is usually wrong: the subset with the lowest AIC contains the
true columns *and* a few spurious ones. Zhu (2008, Section 4.3) takes a vote of short evolutionary
searches in parallel universes instead. These are Figures 5 and 6 of the paper, for a random draw on
which, as on 71 of 100, the lowest AIC is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernsemble.datasets import make_sparse_sum
from kernsemble.selection import (
    ImportanceOrderDisplay,
    ParallelEvolutionSelector,
    UniversesDisplay,
    exhaustive_search,
)

X, y = make_sparse_sum(random_state=6)  # y = x1 + x4 + x7 + noise, counted from 0
true = np.isin(np.arange(10), [1, 4, 7])

# %%
# All 1024 subsets
# ----------------
# The subset with the lowest AIC is not the true one, and many others have almost the same AIC. But
# the subsets that contain all three true columns have a much lower AIC than all others.

table = exhaustive_search(X, y)
n_true = table.subsets[:, true].sum(axis=1)
sizes = table.subsets.sum(axis=1)
print("lowest AIC:", np.flatnonzero(table.best), "instead of", np.flatnonzero(true))

figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
for number, marker in enumerate("x+^o"):
    matching = n_true == number
    place = sizes[matching] + 0.12 * (number - 1.5)
    axis.scatter(place, table.scores[matching], marker=marker, s=14, label=f"{number}")
place = np.flatnonzero((table.subsets == true).all(axis=1))[0]
axis.annotate(
    "true model",
    (3.18, table.scores[place]),
    (0.5, table.scores[place] + 12.0),
    arrowprops={"arrowstyle": "->"},
)
axis.set(xlabel="size of the subset", ylabel="AIC", xticks=range(11))
axis.legend(title="number of true columns")
plt.show()

# %%
# Universes
# ---------
# After a few generations of an evolutionary search, the best subset of a universe is a random one
# of the lower group. The columns that these subsets have in common are the true ones. A single
# universe is likely to contain a spurious column; ten are enough to exclude them.

figure, panels = plt.subplots(2, 2, figsize=(9, 6), layout="constrained", width_ratios=[2, 3])
for (left, right), n_universes in zip(panels, (1, 10), strict=True):
    selector = ParallelEvolutionSelector(n_universes=n_universes, random_state=0).fit(X, y)
    ImportanceOrderDisplay.from_estimator(selector, ax=left)
    UniversesDisplay.from_estimator(selector, ax=right)
    left.set_title(f"B = {n_universes}")
    print(f"B = {n_universes:2}: {selector.get_feature_names_out()}")
plt.show()

# %%
# Early stopping
# --------------
# Universes that evolve for long agree on the lowest AIC, including spurious columns. By default
# each stops (dotted line) when its survivors have become similar, while the universes still
# differ. The long evolution has a higher mutation rate than the default, so that it converges.

long = ParallelEvolutionSelector(n_generations=60, random_state=0, mutation=0.1).fit(X, y)
short = ParallelEvolutionSelector(random_state=0).fit(X, y)
print(f"{short.n_generations_} generations: {short.get_feature_names_out()}")
print(f"60 generations: {long.get_feature_names_out()}")

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for column in range(10):
    axis.plot(long.history_[:, column], color="#2166ac" if true[column] else "#999999")
axis.axvline(short.n_generations_, color="black", linestyle=":")
axis.set(xlabel="generation", ylabel="share of universes", ylim=(0.0, 1.05))
plt.show()
