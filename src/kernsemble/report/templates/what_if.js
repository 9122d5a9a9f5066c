"use strict";

// Evaluate an additive model (kernsemble.inspection.additive_model, version 1) at a row: a number
// or category per column, null if it is missing, undefined for a category that the model does not
// know. Returns the value of each machine, the contribution of each column to it, the decision
// values, the probabilities of classes (null without) and the place of the predicted class.
const evaluate = (() => {
  const EPS = 2 ** -52;
  const LEAD = 1e-14; // relative lead of the predicted class
  const SMALLEST_SHARE = 1e-7; // smallest probability of a class in a pair

  // Return the number of increasing numbers below x.
  function countBelow(numbers, x) {
    let low = 0;
    let high = numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function piecewiseLinear({ knots, values, above = values, slopes = [0, 0] }, x) {
    if (!knots) return 0;
    const place = countBelow(knots, x);
    const last = knots.length - 1;
    if (place === 0) return values[0] + slopes[0] * (x - knots[0]);
    if (place > last) return above[last] + slopes[1] * (x - knots[last]);
    const share = (x - knots[place - 1]) / (knots[place] - knots[place - 1]);
    return (1 - share) * above[place - 1] + share * values[place];
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

  return (model, row) => {
    const contributions = model.machines.map(({ functions }) =>
      functions.map((func, d) => contribution(model.columns[d], func, row[d])));
    const values = model.machines.map(({ intercept }, machine) =>
      contributions[machine].reduce((sum, each) => sum + each, intercept));
    const decisions = decisionValues(model, values);
    const predicted = predictedClass(model, decisions);
    const probabilities = classProbabilities(model, values, predicted);
    return { values, contributions, decisions, probabilities, predicted };
  };
})();

(window.reportParts ||= []).push((drawn) => {
  const tool = document.getElementById("what-if-tool");
  if (!tool) return;
  const { model, inputs, outputs, rows, class_names: classNames } = drawn.what_if;
  const part = (name) => tool.querySelector(`[data-part="${name}"]`);
  const [picker, outputChoice] = [part("row"), part("output")];
  const places = model.columns.map((_, d) => d);
  let picked = rows[0];
  let state = [];

  function made(tag, settings = {}, ...children) {
    const element = Object.assign(document.createElement(tag), settings);
    element.append(...children);
    return element;
  }

  function shown(value) {
    return value.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−");
  }

  // Return a number with as many decimals as the largest contribution needs.
  function fixed(value, scale) {
    const digits = Math.min(Math.max(3 - Math.floor(Math.log10(scale)), 0), 9);
    const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    return value.toLocaleString("en", places).replace("-", "−");
  }

  function valuesOf(row) {
    return row.values.map((value, d) => {
      if (value === null || model.columns[d].kind === "number") return value;
      return model.columns[d].categories[value]; // undefined for −1
    });
  }

  // The model with the columns that have no input as part of the intercept.
  function modelOf(row) {
    const machines = model.machines.map((machine, k) =>
      ({ ...machine, intercept: machine.intercept + row.others[k] }));
    return { ...model, machines };
  }

  function contributionsTo(output, found) {
    return places.map((d) =>
      output.weights.reduce((sum, weight, k) => sum + weight * found.contributions[k][d], 0));
  }

  function othersOf(output, row) {
    return output.weights.reduce((sum, weight, k) => sum + weight * row.others[k], 0);
  }

  const scales = outputs.map((output) => Math.max(...rows.flatMap((row) =>
    [othersOf(output, row), ...contributionsTo(output, evaluate(modelOf(row), valuesOf(row)))]
      .map(Math.abs))) || 1);

  // -- inputs

  const DAY = 864e5; // milliseconds

  function datePart(part, days) {
    const date = new Date(Math.round(days * DAY));
    if (part === "month") return date.getUTCMonth() + 1;
    if (part === "weekday") return ((date.getUTCDay() + 6) % 7) + 1;
    return date.getUTCHours();
  }

  function partName(part, value) {
    if (part === "hour") return `${value}:00 to ${value}:59`;
    const day = part === "month" ? new Date(Date.UTC(1970, value - 1)) // 5 January was a Monday
      : new Date(Date.UTC(1970, 0, 4 + value));
    return day.toLocaleDateString("en", { [part]: "long", timeZone: "UTC" });
  }

  function change(d, value) {
    state[d] = value;
    model.columns.forEach(({ part_of: source, part }, k) => {
      if (source === model.columns[d].name)
        state[k] = value === null ? null : datePart(part, value);
    });
    update();
  }

  function interpolated(x, from, to) {
    const after = from.findIndex((each) => each >= x);
    if (after <= 0) return after < 0 ? to.at(-1) : to[0];
    const share = (x - from[after - 1]) / (from[after] - from[after - 1]);
    return to[after - 1] + share * (to[after] - to[after - 1]);
  }

  // The positions of values on a slider, which are not linear for a skewed column.
  function positionOn({ values, positions }) {
    if (values.length === 0) return { isLinear: true, of: (x) => x, value: (x) => x };
    return {
      isLinear: false,
      of: (value) => interpolated(value, values, positions),
      value: (place) => interpolated(place, positions, values),
    };
  }

  function numberInput(d) {
    const { quantiles, is_whole: isWhole, can_be_missing: canBeMissing } = inputs[d];
    const { name, is_date: isDate } = model.columns[d];
    const [low, , median, , high] = quantiles;
    const unit = isDate ? DAY : 1;
    const text = isDate ? (days) => new Date(days * DAY).toISOString().slice(0, 10) : shown;
    const rounded = isDate ? (x) => Math.round(x * 1440) / 1440 : (x) => Number(x.toPrecision(6));
    const position = positionOn(inputs[d]);
    const ticks = made("datalist", { id: `what-if-ticks-${d}` },
      ...quantiles.map((value) => made("option", { value: position.of(value) })));
    const slider = made("input", { type: "range", min: position.of(low), max: position.of(high),
      step: isWhole && position.isLinear ? 1 : "any" });
    slider.setAttribute("list", ticks.id);
    slider.setAttribute("aria-label", `${name}, slider`);
    const type = isDate ? (isWhole ? "date" : "datetime-local") : "number";
    const field = made("input", { type, step: "any", id: `what-if-${d}` });
    const box = made("input", { type: "checkbox" });
    const range = made("small", { textContent:
      `${text(low)} to ${text(high)}, median ${text(median)}` });
    const controls = made("div", { className: "values" }, slider, field, ticks, range);
    if (canBeMissing) controls.append(made("label", {}, box, " missing"));
    slider.addEventListener("input", () => {
      const value = position.value(slider.valueAsNumber);
      change(d, isWhole ? Math.round(value) : rounded(value));
    });
    field.addEventListener("input", () => {
      if (!Number.isNaN(field.valueAsNumber)) change(d, field.valueAsNumber / unit);
    });
    box.addEventListener("change", () => change(d, box.checked ? null : median));
    const show = (value) => {
      box.checked = value === null;
      slider.disabled = value === null || low === high;
      field.disabled = value === null;
      if (value === null) {
        field.value = "";
        return;
      }
      slider.value = position.of(value);
      slider.setAttribute("aria-valuetext", text(value));
      if (field.valueAsNumber / unit !== value)
        field.valueAsNumber = isDate ? Math.round(value * DAY) : value;
    };
    return { controls, show };
  }

  // A part of a date, which changes with it.
  function partDisplay(d) {
    const { part, part_of: source } = model.columns[d];
    const text = made("output", { id: `what-if-${d}` });
    const show = (value) => {
      text.textContent = value === null ? "missing" : `${partName(part, value)}, from ${source}`;
    };
    return { controls: made("div", { className: "values" }, text), show };
  }

  function categoryInput(d) {
    const { categories } = model.columns[d];
    const choice = made("select", { id: `what-if-${d}` },
      ...[...inputs[d].names, "another category"].map((textContent) =>
        made("option", { textContent })));
    choice.addEventListener("change", () => change(d, categories[choice.selectedIndex]));
    const show = (value) => {
      const place = categories.indexOf(value);
      choice.selectedIndex = place < 0 ? categories.length : place;
    };
    return { controls: made("div", { className: "values" }, choice), show };
  }

  function contributionBar() {
    const fill = made("span");
    const output = made("output");
    const show = (value, scale) => {
      const width = Math.min(Math.abs(value) / scale, 1) * 50;
      fill.className = value < 0 ? "down" : "up";
      fill.style.width = `${width}%`;
      fill.style.left = `${value < 0 ? 50 - width : 50}%`;
      output.value = (value > 0 ? "+" : "") + fixed(value, scale);
      output.dataset.value = value;
    };
    return { elements: [made("div", { className: "bar" }, fill), output], show };
  }

  function inputOf(d) {
    const { kind, part_of: source } = model.columns[d];
    if (kind === "category") return categoryInput(d);
    const isShown = model.columns.some(({ name }) => name === source);
    return isShown ? partDisplay(d) : numberInput(d);
  }

  const lines = places.map((d) => {
    const input = inputOf(d);
    const bar = contributionBar();
    const line = made("div", { className: "line" },
      made("label", { className: "name", textContent: model.columns[d].name,
        htmlFor: `what-if-${d}` }),
      input.controls, ...bar.elements);
    line.dataset.column = model.columns[d].name;
    part("inputs").append(line);
    return { input, bar };
  });

  const others = contributionBar();
  if (rows[0] && part("others")) part("others").append(...others.elements);

  // -- results

  const classLines = classNames.map((name) => {
    const fill = made("span", { className: "up" });
    const output = made("output");
    const text = made("span", { className: "name", textContent: name });
    const bar = made("div", { className: "bar" }, fill);
    const line = made("div", { className: "line" }, text, bar, output);
    part("classes").append(line);
    return { line, fill, output };
  });

  function showClasses(found) {
    const values = found.probabilities
      || (found.decisions.length === 1 ? [-found.decisions[0], found.decisions[0]]
        : found.decisions);
    const largest = Math.max(...values.map(Math.abs)) || 1;
    classLines.forEach(({ line, fill, output }, k) => {
      const isProbability = found.probabilities !== null;
      fill.style.width = `${Math.max(values[k] / (isProbability ? 1 : largest), 0) * 100}%`;
      output.value = isProbability ? `${(100 * values[k]).toFixed(1)} %` : shown(values[k]);
      output.dataset.value = values[k];
      line.classList.toggle("predicted", k === found.predicted);
    });
  }

  function update() {
    const found = evaluate(modelOf(picked), state);
    const output = outputs[outputChoice ? outputChoice.selectedIndex : 0];
    const scale = scales[outputs.indexOf(output)];
    const contributions = contributionsTo(output, found);
    const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
    const base = sum(output.weights.map((weight, k) => weight * model.machines[k].intercept));
    lines.forEach(({ input, bar }, d) => {
      input.show(state[d]);
      bar.show(contributions[d], scale);
    });
    others.show(othersOf(output, picked), scale);
    const value = base + othersOf(output, picked) + sum(contributions);
    part("base").value = fixed(base, scale);
    part("base").dataset.value = base;
    part("value").value = fixed(value, scale);
    part("value").dataset.value = value;
    showClasses(found);
  }

  function pick() {
    picked = rows[picker.selectedIndex];
    state = valuesOf(picked);
    update();
  }

  picker.addEventListener("change", pick);
  part("reset").addEventListener("click", pick);
  outputChoice?.addEventListener("change", update);
  if (outputChoice)
    outputChoice.selectedIndex = evaluate(modelOf(picked), valuesOf(picked)).predicted;
  pick();
});
