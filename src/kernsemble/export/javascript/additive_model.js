"use strict";

// Read an additive model (format "kernsemble additive model") at a row: a number or category per
// column, null if it is missing, undefined for a category that the model does not know. Returns the
// value of each machine, the contribution of each column to it (a pair counts half for either), the
// decision values, the probabilities of classes (null without) and the place of the predicted class.

// Return the function through knots: it jumps to `above` just beyond a knot, and has two `slopes`
// beyond the ends.
function piecewiseLinear({ knots, values, above = values, slopes = [0, 0] }, x) {
  if (!knots) return 0;
  const [place, last] = [countBelow(knots, x), knots.length - 1];
  if (place === 0) return values[0] + slopes[0] * (x - knots[0]);
  if (place > last) return above[last] + slopes[1] * (x - knots[last]);
  const share = (x - knots[place - 1]) / (knots[place] - knots[place - 1]);
  return (1 - share) * above[place - 1] + share * values[place];
}

// Return the number of increasing numbers below x.
function countBelow(numbers, x) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = numbers[middle] < x ? [middle + 1, high] : [low, middle];
  }
  return low;
}

function pointHeight({ points, heights, tolerance, other }, x) {
  if (!points) return other;
  const place = countBelow(points, x);
  const near = [place - 1, place].find((each) => Math.abs(x - points[each]) <= tolerance);
  return near === undefined ? other : heights[near];
}

function contribution(column, func, value) {
  if (column.kind === "number") {
    if (value === null) return func.missing ?? NaN;
    return piecewiseLinear(func, value) + pointHeight(func, value);
  }
  const place = column.categories.indexOf(value);
  if (place >= 0) return func.heights[place];
  return value === null ? func.missing : func.other;
}

// Return the level of a column in the tables of pairs.
function levelOf({ kind, categories, levels }, value) {
  if (kind === "number") return value === null ? levels.missing : countBelow(levels.cuts, value);
  return levels.categories[categories.indexOf(value)] ?? levels.missing;
}

function contributionsOf(model, { functions, pairs = [] }, row) {
  const found = functions.map((func, d) => contribution(model.columns[d], func, row[d]));
  pairs.forEach(({ columns, heights }) => {
    const [k, l] = columns.map((d) => levelOf(model.columns[d], row[d]));
    columns.forEach((d) => { found[d] += heights[k][l] / 2; });
  });
  return found;
}

function evaluate(model, row) {
  const contributions = model.machines.map((machine) => contributionsOf(model, machine, row));
  const values = model.machines.map(({ intercept }, machine) =>
    contributions[machine].reduce((sum, each) => sum + each, intercept));
  return { values, contributions, ...classify(model, values) };
}
