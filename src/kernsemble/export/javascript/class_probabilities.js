"use strict";

// Return the decision values, the probabilities of classes (null without) and the place of the
// predicted class, given the value of each machine of a model.
const classify = (() => {
  const EPS = 2 ** -52;
  const LEAD = 1e-14; // relative lead of the predicted class
  const SMALLEST_SHARE = 1e-7; // smallest probability of a class in a pair

  function curveAt(curve, value) {
    if (curve.kind !== "isotonic") return 1 / (1 + Math.exp(-(curve.slope * value + curve.offset)));
    return piecewiseLinear({ knots: curve.knots, values: curve.levels }, value);
  }

  function pairs(n) {
    const found = [];
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) found.push([i, j]);
    return found;
  }

  function decisionValues(model, values) {
    if (model.combination !== "one per pair") return values;
    const votes = model.classes.map(() => 0);
    const confidence = model.classes.map(() => 0);
    pairs(votes.length).forEach(([i, j], machine) => {
      votes[values[machine] > 0 ? i : j] += 1;
      confidence[i] += values[machine];
      confidence[j] -= values[machine];
    });
    return votes.map((each, k) => each + confidence[k] / (2 * Math.abs(confidence[k]) + 3));
  }

  function predictedClass(model, decisions) {
    if (model.task === "regression") return null;
    if (decisions.length === 1) return decisions[0] > 0 ? 1 : 0;
    return decisions.indexOf(Math.max(...decisions));
  }

  function classProbabilities(model, values, predicted) {
    if (model.link === null) return null;
    if (model.link === "softmax") {
      const largest = Math.max(...values);
      return normalised(values.map((value) => Math.exp(value - largest)));
    }
    const shares = model.machines.map(({ curve }, machine) =>
      Math.min(Math.max(curveAt(curve, values[machine]), EPS), 1 - EPS));
    return withLargest(combined(model, shares), predicted);
  }

  function combined(model, shares) {
    if (model.combination === "one machine") return [1 - shares[0], shares[0]];
    if (model.combination === "one per class") return normalised(shares);
    return coupled(shares, model.classes.length);
  }

  function normalised(numbers) {
    const total = numbers.reduce((sum, each) => sum + each, 0);
    return numbers.map((each) => each / total);
  }

  // Couple the probabilities of pairs: the second method of Wu, Lin and Weng (2004).
  function coupled(shares, n) {
    const against = Array.from({ length: n }, () => Array(n).fill(0));
    pairs(n).forEach(([i, j], machine) => {
      const share = Math.min(Math.max(shares[machine], SMALLEST_SHARE), 1 - SMALLEST_SHARE);
      against[i][j] = share;
      against[j][i] = 1 - share;
    });
    const system = against.map((line, i) => line.map((share, j) => (i === j
      ? against.reduce((sum, other) => sum + other[i] ** 2, 0) : -share * against[j][i])));
    const rows = system.map((line) => [...line, 1, 0]);
    rows.push([...Array(n).fill(1), 0, 1]);
    return normalised(solved(rows).slice(0, n).map((each) => Math.max(each, EPS)));
  }

  // Solve linear equations, the right side in the last column, by elimination with pivots.
  function solved(rows) {
    const n = rows.length;
    for (let k = 0; k < n; k++) {
      let pivot = k;
      for (let i = k + 1; i < n; i++)
        if (Math.abs(rows[i][k]) > Math.abs(rows[pivot][k])) pivot = i;
      [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
      for (let i = k + 1; i < n; i++) {
        const factor = rows[i][k] / rows[k][k];
        for (let j = k; j <= n; j++) rows[i][j] -= factor * rows[k][j];
      }
    }
    const x = Array(n).fill(0);
    for (let k = n - 1; k >= 0; k--) {
      let rest = rows[k][n];
      for (let j = k + 1; j < n; j++) rest -= rows[k][j] * x[j];
      x[k] = rest / rows[k][k];
    }
    return x;
  }

  // Return the nearest probabilities of which that of the predicted class is the largest.
  function withLargest(probabilities, predicted) {
    const mine = probabilities[predicted];
    const others = probabilities.filter((_, k) => k !== predicted).sort((a, b) => b - a);
    if (mine >= (1 + LEAD) * others[0]) return probabilities;
    let total = mine;
    let level = mine;
    others.forEach((each, k) => {
      total += each;
      level = Math.max(level, total / (k + 2));
    });
    return probabilities.map((each, k) =>
      (k === predicted ? (1 + LEAD) * level : Math.min(each, level)));
  }

  return (model, values) => {
    const decisions = decisionValues(model, values);
    const predicted = predictedClass(model, decisions);
    return { decisions, predicted, probabilities: classProbabilities(model, values, predicted) };
  };
})();
