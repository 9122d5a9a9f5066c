"use strict";
(async () => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const canHover = matchMedia("(hover: hover)").matches;
  const config = { responsive: true, displayModeBar: false };

  async function inflated(id) {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function selected(chart, drawn) {
    const sizes = drawn.choices[chart.dataset.chart];
    const picked = [...chart.querySelectorAll("[data-choice]")].map((each) => each.selectedIndex);
    const place = picked.reduce((before, index, k) => before * sizes[k] + index, 0);
    return drawn.charts[chart.dataset.chart][place];
  }

  async function draw(chart, drawn) {
    const figure = structuredClone(selected(chart, drawn));
    const layout = {
      ...figure.layout,
      autosize: true,
      dragmode: canHover ? "zoom" : false,
      template: drawn.themes[dark.matches ? "dark" : "light"],
    };
    await Plotly.react(chart.querySelector(".drawing"), figure.data, layout, config);
    const note = chart.querySelector(".note");
    note.textContent = figure.layout.meta?.note || "";
    note.hidden = !note.textContent;
    chart.dataset.drawn = "yes";
    if (chart.querySelector(".numbers").open) tabulate(chart, drawn);
  }

  function tabulate(chart, drawn) {
    const { data, layout } = selected(chart, drawn);
    const lines = data.flatMap((trace) => trace.z
      ? trace.z.flatMap((row, i) => row.map((height, k) =>
        [trace.name, unescaped(trace.customdata[i][k]), height]))
      : (trace.x || []).map((x, k) => [trace.name,
        trace.meta === "values" ? trace.customdata[k] : named(layout, "x", trace, x),
        named(layout, "y", trace, trace.y[k])]));
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const name of ["series", "x", "y"]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const line of lines) {
      const row = body.insertRow();
      for (const item of line) row.insertCell().textContent = item;
    }
    chart.querySelector(".numbers .wide").replaceChildren(table);
  }

  function named(layout, letter, trace, value) {
    const axis = layout[(trace[letter + "axis"] || letter).replace(letter, letter + "axis")] || {};
    const place = axis.ticktext ? axis.tickvals.indexOf(value) : -1;
    if (place < 0) return value;
    return unescaped(axis.ticktext[place]);
  }

  function unescaped(text) {
    return new DOMParser().parseFromString(text, "text/html").documentElement.textContent;
  }

  try {
    const [library, figures] = await Promise.all([inflated("library"), inflated("drawn")]);
    const script = document.createElement("script");
    script.textContent = library;
    document.head.append(script);
    const drawn = JSON.parse(figures);
    const charts = [...document.querySelectorAll("[data-chart]")];
    for (const chart of charts) {
      await draw(chart, drawn);
      for (const choice of chart.querySelectorAll("[data-choice]"))
        choice.addEventListener("change", () => draw(chart, drawn));
      chart.querySelector(".numbers").addEventListener("toggle", (event) => {
        if (event.target.open) tabulate(chart, drawn);
      });
    }
    dark.addEventListener("change", () => charts.forEach((chart) => draw(chart, drawn)));
    for (const start of window.reportParts || []) await start(drawn);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    const problem = document.getElementById("problem");
    problem.textContent = "The charts cannot be drawn in this browser (" + error.message
      + "). Open the page in Firefox 113, Chrome 98, Safari 16.4 or later.";
    problem.hidden = false;
  }
})();
