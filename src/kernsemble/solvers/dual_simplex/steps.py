r"""Steps of the dual simplex method on a dense tableau.

Variables are numbered, the N columns first and then the slacks of the rows. A basis has the
columns B and the slacks of all rows but R. Its inverse follows from that of the kernel
:math:`K = A_{RB}`: a basic column has the row :math:`\rho` of :math:`K^{-1}`, the slack of row t
has :math:`\rho = -A_{tB} K^{-1}` and a one of its own; in the tableau they have the entries
:math:`\alpha = \rho A_R` (:math:`+ A_t`) of columns and :math:`\rho` of the slacks of R. Whatever
enters and leaves, the inverse changes by a matrix of rank one,

.. math:: K^{-1} \leftarrow K^{-1} - v \rho / \alpha_q ,

where v is the column of the variable q that enters. A slack that leaves adds the column
:math:`-v/\alpha_q`, in the place of a slack that enters if there is one; a column that enters adds
the row :math:`\rho/\alpha_q` likewise, and the two cross in :math:`1/\alpha_q`.
"""

import numpy as np

from kernsemble._jit import jit_sums
from kernsemble._typing import Array, FloatArray
from kernsemble.solvers.dual_simplex.tableau import UNKNOWN, Tableau

OUT_OF_BOUNDS = 1e-9  # smallest violation of a bound that is not rounding
TIE = 1e-11  # difference of tied reduced costs
SMALLEST_PIVOT = 1e-7
DISAGREEMENT = 1e-7  # relative difference of a pivot in row and column for a new inverse
WORST_RESIDUAL = 1e-10  # largest residual of a basis after a step of refinement
WORST_SIGN = 1e-7  # largest reduced cost of the wrong sign that is rounding
STEPS_PER_INVERSE = 200  # steps after which the inverse is recomputed
LEAST_EDGE = 1e-4
NONE = -1
SOLVED, STALLED, FAILED = range(3)


@jit_sums
def solve(tableau: Tableau, most: int, patience: int) -> tuple[int, int]:
    """Continue to the optimum, in at most `most` steps, `patience` of length zero in a row."""
    is_exact = _refresh(tableau) or _renew(tableau)
    for variable in range(len(tableau.cost) + tableau.sizes[0]):
        if tableau.is_basic[variable] and tableau.edges[variable] == UNKNOWN:
            tableau.edges[variable] = _rho_of(tableau, variable)
    n_since, n_stalled, is_fresh = 0, 0, True
    for n_steps in range(most):
        leaving = _leaving(tableau)
        if leaving == NONE and is_fresh:
            return (SOLVED if is_exact and _has_signs(tableau) else FAILED), n_steps
        if n_stalled > patience:
            return STALLED, n_steps
        if leaving == NONE and _refresh(tableau):
            is_exact = is_fresh = True
            continue
        if leaving == NONE or n_since >= STEPS_PER_INVERSE:
            n_since, is_fresh, is_exact = 0, True, _renew(tableau)
            continue
        edge = _row_of(tableau, leaving)
        is_below = tableau.values[leaving] < tableau.lower[leaving]
        bound = tableau.lower[leaving] if is_below else tableau.upper[leaving]
        entering = _entering(tableau, bound - tableau.values[leaving])
        if entering == NONE or not _column_of(tableau, leaving, entering):
            if n_since == 0:
                return FAILED, n_steps
            n_since = STEPS_PER_INVERSE
            continue
        has_length = _move_costs(tableau, leaving, entering)
        n_stalled = 0 if has_length else n_stalled + 1
        _flip(tableau)
        _change_inverse(tableau, entering)
        _move_values(tableau, leaving, entering, bound, edge)
        _exchange(tableau, leaving, entering)
        n_since, is_fresh = n_since + 1, False
    return FAILED, most


@jit_sums
def _has_signs(tableau: Tableau) -> bool:
    """Return whether multipliers have the right signs; reduced costs of columns do, by flips."""
    n = len(tableau.cost)
    for t in range(tableau.sizes[0]):
        if tableau.upper[n + t] > 0.0 and tableau.reduced[n + t] > WORST_SIGN:
            return False
    return True


@jit_sums
def _renew(tableau: Tableau) -> bool:
    """Invert the kernel and compute all values, in O(k³); return whether they are accurate."""
    size = tableau.sizes[1]
    kernel = np.empty((size, size))
    for r in range(size):
        for i in range(size):
            kernel[r, i] = tableau.A[tableau.rows[r], tableau.columns[i]]
    tableau.inverse[:size, :size] = np.linalg.inv(kernel)
    return _refresh(tableau)


@jit_sums
def _refresh(tableau: Tableau) -> bool:
    """Compute all values with a step of refinement; return whether they are accurate."""
    n, values, A = len(tableau.cost), tableau.values, tableau.A
    n_rows, size = tableau.sizes[0], tableau.sizes[1]
    worst = _refresh_costs(tableau)
    for j in range(n):
        if not tableau.is_basic[j]:
            if abs(tableau.reduced[j]) > TIE:
                tableau.is_upper[j] = tableau.reduced[j] > 0.0
            values[j] = tableau.upper[j] if tableau.is_upper[j] else tableau.lower[j]
    for _ in range(2):
        for r in range(size):
            t = tableau.rows[r]
            tableau.side[r] = tableau.right[t] - _product(A[t], values[:n])
        for i in range(size):
            change = _product(tableau.inverse[i, :size], tableau.side[:size])
            values[tableau.columns[i]] += change
    for t in range(n_rows):
        values[n + t] = tableau.right[t] - _product(A[t], values[:n])
        if not tableau.is_basic[n + t]:
            worst = max(worst, abs(values[n + t]))
            values[n + t] = 0.0
    return bool(worst <= WORST_RESIDUAL)


@jit_sums
def _refresh_costs(tableau: Tableau) -> float:
    """Compute reduced costs; return the largest absolute one of a basic column."""
    n, size, reduced = len(tableau.cost), tableau.sizes[1], tableau.reduced
    multipliers = tableau.side[:size]
    multipliers[:], reduced[:n] = 0.0, tableau.cost
    for _ in range(2):
        for i in range(size):
            _add_times(multipliers, reduced[tableau.columns[i]], tableau.inverse[i, :size])
        reduced[:n] = tableau.cost
        for r in range(size):
            _add_times(reduced[:n], -multipliers[r], tableau.A[tableau.rows[r]])
    worst = 0.0
    for i in range(size):
        worst = max(worst, abs(reduced[tableau.columns[i]]))
        reduced[tableau.columns[i]] = 0.0
        reduced[n + tableau.rows[i]] = -multipliers[i]
    return worst


@jit_sums
def _product(a: Array, b: FloatArray) -> float:
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@jit_sums
def _add_times(total: FloatArray, factor: float, a: Array) -> None:
    for j in range(len(a)):
        total[j] += factor * a[j]


@jit_sums
def _leaving(tableau: Tableau) -> int:
    """Return the basic variable out of bounds with the steepest edge."""
    best, found = 0.0, NONE
    for variable in range(len(tableau.cost) + tableau.sizes[0]):
        value = tableau.values[variable]
        out = max(tableau.lower[variable] - value, value - tableau.upper[variable])
        if tableau.is_basic[variable] and out > OUT_OF_BOUNDS:
            gain = out * out / tableau.edges[variable]
            if gain > best:
                best, found = gain, variable
    return found


@jit_sums
def _rho_of(tableau: Tableau, variable: int) -> float:
    """Write rho of a basic variable; return its edge."""
    n, size = len(tableau.cost), tableau.sizes[1]
    rho = tableau.rho[:size]
    if variable < n:
        rho[:] = tableau.inverse[tableau.places[variable], :size]
        return _product(rho, rho)
    rho[:] = 0.0
    for i in range(size):
        entry = tableau.A[variable - n, tableau.columns[i]]
        _add_times(rho, -1.0 * entry, tableau.inverse[i, :size])
    return 1.0 + _product(rho, rho)


@jit_sums
def _row_of(tableau: Tableau, leaving: int) -> float:
    """Write rho and alpha of the variable that leaves; return its edge."""
    n, alpha = len(tableau.cost), tableau.alpha
    edge = _rho_of(tableau, leaving)
    alpha[:n] = 0.0
    if leaving >= n:
        _add_times(alpha[:n], 1.0, tableau.A[leaving - n])
    for r in range(tableau.sizes[1]):
        t = tableau.rows[r]
        _add_times(alpha[:n], tableau.rho[r], tableau.A[t])
        alpha[n + t] = tableau.rho[r]
    return edge


@jit_sums
def _entering(tableau: Tableau, distance: float) -> int:
    """Return the variable that ends the longest step; of several, that of the largest entry.

    The slope of the dual objective is the distance of the leaving variable to its bound, reduced
    by the flips of bounds along the step.
    """
    sign = 1.0 if distance > 0.0 else -1.0
    n_found = 0
    for variable in range(len(tableau.cost) + tableau.sizes[0]):
        extent = tableau.upper[variable] - tableau.lower[variable]
        if tableau.is_basic[variable] or extent == 0.0:
            continue
        upwards = -1.0 if tableau.is_upper[variable] else 1.0
        weight = -sign * upwards * tableau.alpha[variable]
        if weight > TIE:
            tableau.breakpoints[n_found] = max(-upwards * tableau.reduced[variable], 0.0) / weight
            tableau.slopes[n_found] = weight * extent
            tableau.candidates[n_found] = variable
            n_found += 1
    last = _last_breakpoint(tableau, n_found, abs(distance))
    best, found = 0.0, NONE
    for place in range(n_found):
        weight = abs(tableau.alpha[tableau.candidates[place]])
        if weight > best and abs(tableau.breakpoints[place] - last) * weight <= TIE:
            best, found = weight, tableau.candidates[place]
    return found


@jit_sums
def _last_breakpoint(tableau: Tableau, n_found: int, slope: float) -> float:
    """Return the breakpoint at which the slope becomes zero, in linear time, or infinity."""
    breakpoints, slopes = tableau.breakpoints, tableau.slopes
    first, end, middle = 0, n_found, np.inf
    while first < end:
        middle = breakpoints[(first + end) // 2]
        below, place, above = first, first, end
        used_below, used = 0.0, 0.0
        while place < above:
            if breakpoints[place] > middle:
                above -= 1
                _swap(tableau, place, above)
                continue
            used += slopes[place]
            if breakpoints[place] < middle:
                used_below += slopes[place]
                _swap(tableau, place, below)
                below += 1
            place += 1
        if used_below >= slope:
            end = below
        elif used >= slope:
            return middle
        else:
            slope, first = slope - used, above
    return middle if slope <= OUT_OF_BOUNDS else np.inf


@jit_sums
def _swap(tableau: Tableau, a: int, b: int) -> None:
    for array in (tableau.breakpoints, tableau.slopes):
        array[a], array[b] = array[b], array[a]
    candidates = tableau.candidates
    candidates[a], candidates[b] = candidates[b], candidates[a]


@jit_sums
def _column_of(tableau: Tableau, leaving: int, entering: int) -> bool:
    """Write v of the entering variable; return whether row and column agree on a large pivot."""
    n, size, v = len(tableau.cost), tableau.sizes[1], tableau.v
    if entering < n:
        for r in range(size):
            tableau.side[r] = tableau.A_transposed[entering, tableau.rows[r]]
        for i in range(size):
            v[i] = _product(tableau.inverse[i, :size], tableau.side[:size])
    else:
        v[:size] = tableau.inverse[:size, tableau.places[entering]]
    if leaving < n:
        pivot = v[tableau.places[leaving]]
    else:
        row = tableau.A[leaving - n]
        pivot = 1.0 * row[entering] if entering < n else 0.0
        for i in range(size):
            pivot -= row[tableau.columns[i]] * v[i]
    size_of_pivot = abs(tableau.alpha[entering])
    apart = abs(pivot - tableau.alpha[entering])
    return bool(size_of_pivot >= SMALLEST_PIVOT and apart <= DISAGREEMENT * size_of_pivot)


@jit_sums
def _move_costs(tableau: Tableau, leaving: int, entering: int) -> bool:
    """Make the reduced cost of the entering variable zero; return whether it was not."""
    reduced = tableau.reduced
    step = reduced[entering] / tableau.alpha[entering]
    for variable in range(len(tableau.cost) + tableau.sizes[0]):
        if not tableau.is_basic[variable]:
            reduced[variable] -= step * tableau.alpha[variable]
    reduced[entering], reduced[leaving] = 0.0, -step
    return bool(abs(step) > TIE)


@jit_sums
def _flip(tableau: Tableau) -> None:
    """Move columns to the bounds given by their reduced costs, and update basic variables."""
    n, values = len(tableau.cost), tableau.values
    n_rows, size = tableau.sizes[0], tableau.sizes[1]
    by_rows, has_flipped = tableau.by_rows[:n_rows], False
    by_rows[:] = 0.0
    for j in range(n):
        cost, is_upper = tableau.reduced[j], tableau.is_upper[j]
        if tableau.is_basic[j] or not ((cost < -TIE) if is_upper else (cost > TIE)):
            continue
        to = tableau.lower[j] if is_upper else tableau.upper[j]
        _add_times(by_rows, to - values[j], tableau.A_transposed[j, :n_rows])
        values[j], tableau.is_upper[j], has_flipped = to, not is_upper, True
    if not has_flipped:
        return
    for r in range(size):
        tableau.side[r] = by_rows[tableau.rows[r]]
    for i in range(size):
        j = tableau.columns[i]
        change = -_product(tableau.inverse[i, :size], tableau.side[:size])
        values[j] += change
        _add_times(by_rows, change, tableau.A_transposed[j, :n_rows])
    _add_times(values[n:], -1.0, by_rows)
    for r in range(size):
        values[n + tableau.rows[r]] = 0.0


@jit_sums
def _change_inverse(tableau: Tableau, entering: int) -> None:
    """Apply the change of rank one, and write tau of the previous inverse."""
    size = tableau.sizes[1]
    rho, pivot = tableau.rho[:size], tableau.alpha[entering]
    for i in range(size):
        tableau.tau[i] = _product(tableau.inverse[i, :size], rho)
        _add_times(tableau.inverse[i, :size], -tableau.v[i] / pivot, rho)


@jit_sums
def _move_values(tableau: Tableau, leaving: int, entering: int, bound: float, edge: float) -> None:
    """Move the leaving variable to its bound; update basic variables and edges."""
    n, n_rows = len(tableau.cost), tableau.sizes[0]
    pivot, values, edges = tableau.alpha[entering], tableau.values, tableau.edges
    length = (values[leaving] - bound) / pivot
    by_rows, tau_by_rows = tableau.by_rows[:n_rows], tableau.tau_by_rows[:n_rows]
    by_rows[:], tau_by_rows[:] = 0.0, 0.0
    if entering < n:
        by_rows += tableau.A_transposed[entering, :n_rows]
    for i in range(tableau.sizes[1]):
        j, v, tau = tableau.columns[i], tableau.v[i], tableau.tau[i]
        values[j] -= length * v
        edges[j] = max(edges[j] - v / pivot * (2.0 * tau - v / pivot * edge), LEAST_EDGE)
        _add_both(by_rows, -v, tau_by_rows, -tau, tableau.A_transposed[j, :n_rows])
    for t in range(n_rows):
        if tableau.is_basic[n + t]:
            v, tau = by_rows[t], tau_by_rows[t]
            values[n + t] -= length * v
            edges[n + t] = max(edges[n + t] - v / pivot * (2.0 * tau - v / pivot * edge), 1.0)
    values[leaving], tableau.is_upper[leaving] = bound, bound == tableau.upper[leaving]
    values[entering] += length
    edges[entering] = max(edge / pivot**2, LEAST_EDGE)


@jit_sums
def _add_both(a: FloatArray, by_a: float, b: FloatArray, by_b: float, column: Array) -> None:
    for t in range(len(column)):
        a[t] += by_a * column[t]
        b[t] += by_b * column[t]


@jit_sums
def _exchange(tableau: Tableau, leaving: int, entering: int) -> None:
    """Exchange the variables; the last row or column fills a gap in the kernel."""
    n, size = len(tableau.cost), tableau.sizes[1]
    inverse, places, pivot = tableau.inverse, tableau.places, tableau.alpha[entering]
    adds_row, adds_column = leaving >= n, entering < n
    row = size if adds_column else places[entering]
    column = size if adds_row else places[leaving]
    tableau.is_basic[leaving], tableau.is_basic[entering] = False, True
    if adds_row:
        for i in range(size):
            inverse[i, row] = -tableau.v[i] / pivot
        tableau.rows[row], places[leaving] = leaving - n, row
    if adds_column:
        for r in range(size):
            inverse[column, r] = tableau.rho[r] / pivot
        tableau.columns[column], places[entering] = entering, column
    if adds_row and adds_column:
        inverse[size, size] = 1.0 / pivot
        tableau.sizes[1] = size + 1
    elif not adds_row and not adds_column:
        last = size - 1
        inverse[column, :size] = inverse[last, :size]
        inverse[:last, row] = inverse[:last, last]
        tableau.columns[column], tableau.rows[row] = tableau.columns[last], tableau.rows[last]
        places[tableau.columns[column]], places[n + tableau.rows[row]] = column, row
        tableau.sizes[1] = last
