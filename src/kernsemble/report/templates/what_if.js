"use strict";

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
    const useGrouping = Math.abs(value) >= 10000;  // no comma in years
    return value.toLocaleString("en", { maximumSignificantDigits: 4, useGrouping }).replace("-", "−");
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
