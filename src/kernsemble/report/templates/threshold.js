"use strict";

// Return the number of increasing numbers that are at most x.
function countAtMost(numbers, x) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Return the confusion matrix of the class in `counts` where scores above the threshold predict it.
function confusionAt(counts, threshold) {
  return confusionOf(counts, countAtMost(counts.scores, threshold));
}

function confusionOf(counts, place) {
  const tp = place > 0 ? counts.true_positives[place - 1] : counts.n_positive;
  const fp = place > 0 ? counts.false_positives[place - 1] : counts.n_negative;
  return { tp, fp, fn: counts.n_positive - tp, tn: counts.n_negative - fp };
}

// Return precision, recall, false positive rate, accuracy and cost per 1,000 rows; NaN for 0 / 0.
function measuresOf({ tp, fp, fn, tn }, costs) {
  const n = tp + fp + fn + tn;
  return {
    precision: tp / (tp + fp),
    recall: tp / (tp + fn),
    false_positive_rate: fp / (fp + tn),
    accuracy: (tp + tn) / n,
    cost: (1000 * (costs.fp * fp + costs.fn * fn)) / n,
  };
}

// Return the place of the cheapest threshold, 0 below all scores; of ties the nearest to `start`.
function cheapestPlace(counts, costs) {
  const home = countAtMost(counts.scores, counts.start);
  let best = home;
  const cost = (place) => measuresOf(confusionOf(counts, place), costs).cost;
  for (let place = 0; place <= counts.scores.length; place++) {
    const gain = cost(best) - cost(place);
    if (gain > 0 || (gain === 0 && Math.abs(place - home) < Math.abs(best - home))) best = place;
  }
  return best;
}

// Return a number of few digits that is at least `low` and below `high`.
function shortNumber(low, high) {
  for (let digits = 1; digits < 17; digits++) {
    const number = Number(((low + high) / 2).toPrecision(digits));
    if (low <= number && number < high) return number;
  }
  return low;
}

(window.reportParts ||= []).push((drawn) => {
  const tool = document.getElementById("threshold-tool");
  if (!tool) return;
  const { score, classes } = drawn.threshold;
  const part = (name) => tool.querySelector(`[data-part="${name}"]`);
  const [choice, slider, field] = ["class", "slider", "number"].map(part);
  const costFields = { fp: part("cost-fp"), fn: part("cost-fn") };
  let counts = classes[0];
  let step = 0.001;

  function costs() {
    const read = (each) => Math.max(each.valueAsNumber || 0, 0);
    return { fp: read(costFields.fp), fn: read(costFields.fn) };
  }

  function selectClass() {
    counts = classes[choice ? choice.selectedIndex : 0];
    const [low, high] = score === "probability"
      ? [0, 1] : [counts.scores[0], counts.scores.at(-1)];
    step = 10 ** Math.floor(Math.log10((high - low || 1) / 200));
    const ends = score === "probability"
      ? [low, high] : [Math.floor(low / step - 1) * step, Math.ceil(high / step) * step];
    [slider.min, slider.max] = ends.map((end) => Number(end.toPrecision(12)));
    slider.step = step;
    for (const key of ["name", "rest"])
      for (const each of document.querySelectorAll(`#threshold [data-part="${key}"]`))
        each.textContent = counts[key];
    moveTo(counts.start);
  }

  function thresholdAt(place) {
    const { scores } = counts;
    if (place === 0) return shortNumber(scores[0] - step, scores[0]);
    if (counts.is_thinned) return scores[place - 1];
    return shortNumber(scores[place - 1], scores[place] ?? scores[place - 1] + step);
  }

  function moveTo(threshold) {
    field.value = threshold;
    slider.value = threshold;
    update();
  }

  function update() {
    if (Number.isNaN(field.valueAsNumber)) return;
    const threshold = field.valueAsNumber;
    const place = countAtMost(counts.scores, threshold);
    const matrix = confusionOf(counts, place);
    for (const [name, count] of Object.entries(matrix))
      part(name).textContent = count.toLocaleString("en");
    const measures = measuresOf(matrix, costs());
    for (const [name, value] of Object.entries(measures)) {
      part(name).value = Number.isNaN(value) ? "–"
        : name === "cost" ? shown(value) : value.toFixed(3);
      part(name).dataset.value = value;
    }
    const counted = counts.scores[place - 1];
    part("exact").dataset.value = counted;
    part("exact").textContent = counts.is_thinned && place > 0
      ? `Counts at ${shown(counted)}, the nearest of ${counts.scores.length.toLocaleString("en")}`
        + " stored thresholds that is not above it."
      : "";
    const best = cheapestPlace(counts, costs());
    const lowest = measuresOf(confusionOf(counts, best), costs()).cost;
    part("cheapest-threshold").textContent = shown(thresholdAt(best));
    part("cheapest-cost").textContent = shown(lowest);
    part("cheapest-cost").dataset.value = lowest;
    drawCosts(part("drawing"), threshold, measures.cost, thresholdAt(best), lowest);
  }

  function shown(value) {
    return value.toLocaleString("en", { maximumSignificantDigits: 4 });
  }

  function drawCosts(drawing, threshold, cost, cheapest, lowest) {
    const [low, high] = [Number(slider.min), Number(slider.max)];
    const all = [low, ...counts.scores].map((at, place) =>
      [at, measuresOf(confusionOf(counts, place), costs()).cost]);
    const top = Math.max(...all.map(([, each]) => each)) || 1;
    const x = (at) => 4 + 392 * Math.min(Math.max((at - low) / (high - low), 0), 1);
    const y = (each) => 96 - 88 * (each / top);
    const line = all.map(([at, each], k) =>
      (k ? `H${x(at).toFixed(2)}V` : `M${x(at)} `) + y(each).toFixed(2)).join("");
    const set = (name, shape) => drawing.querySelector(name).setAttribute("d", shape);
    set(".curve", `${line}H396`);
    set(".upright", `M${x(threshold)} 2V98`);
    set(".now", `M${x(threshold)} ${y(cost)}h0`);
    set(".best", `M${x(cheapest)} ${y(lowest)}h0`);
    part("top").textContent = shown(top);
    part("low").textContent = shown(low);
    part("high").textContent = shown(high);
  }

  slider.addEventListener("input", () => moveTo(slider.valueAsNumber));
  field.addEventListener("input", () => {
    if (!Number.isNaN(field.valueAsNumber)) slider.value = field.value;
    update();
  });
  for (const each of Object.values(costFields)) each.addEventListener("input", update);
  part("cheapest").addEventListener("click", () =>
    moveTo(thresholdAt(cheapestPlace(counts, costs()))));
  choice?.addEventListener("change", selectClass);
  selectClass();
});
