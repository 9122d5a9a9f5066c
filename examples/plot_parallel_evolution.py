"""
Which columns? Ask parallel universes
=====================================

Ten columns, of which three make y; fifty rows. Which three? The usual answer is to minimise a
criterion such as AIC over subsets of columns, and it is usually wrong: the subset of least AIC
holds the true columns *and* a few that happened to help. Zhu (2008, Section 4.3) lets short
evolutions in parallel universes vote instead. These are his Figures 5 and 6, on a draw of ours in
which, as in 71 of 100, the least AIC is wrong.
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
# The subset of least AIC is not the true one, and many are so close that AIC cannot tell them
# apart. But those that hold all three true columns are far below all others.

table = exhaustive_search(X, y)
n_true = table.subsets[:, true].sum(axis=1)
sizes = table.subsets.sum(axis=1)
print("least AIC:", np.flatnonzero(table.best), "instead of", np.flatnonzero(true))

figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
for number, marker in enumerate("x+^o"):
    of_that = n_true == number
    place = sizes[of_that] + 0.12 * (number - 1.5)
    axis.scatter(place, table.scores[of_that], marker=marker, s=14, label=f"{number}")
place = np.flatnonzero((table.subsets == true).all(axis=1))[0]
axis.annotate(
    "true model",
    (3.18, table.scores[place]),
    (0.5, table.scores[place] + 12.0),
    arrowprops={"arrowstyle": "->"},
)
axis.set(xlabel="size of the subset", ylabel="AIC", xticks=range(11))
axis.legend(title="true columns held")
plt.show()

# %%
# Universes
# ---------
# After a few generations of an evolutionary search the best subset of a universe is one of the
# lower group, and chance decides which. What these subsets have in common are the true columns.
# One universe alone is likely to hold a spurious one; ten already tell.

figure, panels = plt.subplots(2, 2, figsize=(9, 6), layout="constrained", width_ratios=[2, 3])
for (left, right), n_universes in zip(panels, (1, 10), strict=True):
    selector = ParallelEvolutionSelector(n_universes=n_universes, random_state=0).fit(X, y)
    ImportanceOrderDisplay.from_estimator(selector, ax=left)
    UniversesDisplay.from_estimator(selector, ax=right)
    left.set_title(f"B = {n_universes}")
    print(f"B = {n_universes:2}: {selector.get_feature_names_out()}")
plt.show()

# %%
# Not too long
# ------------
# Universes that evolve for long agree on the least AIC, spurious columns included. The
# default stops them (dotted) when the survivors of each have become alike, but not the universes.
# The long evolution has more mutations than the default, so that it arrives.

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
