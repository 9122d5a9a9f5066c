"""The HTML page of a report, with its charts and plotly.js."""

import gzip
import json
import math
from base64 import b64encode
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import numpy as np

from kernsemble._counts import readable
from kernsemble._model_cards import kernel_text
from kernsemble.export.json_documents import javascript_reader
from kernsemble.inspection.scores import format_score
from kernsemble.report.association import MEANINGS
from kernsemble.report.charts import Chart
from kernsemble.report.content_policy import content_policy
from kernsemble.report.data_summary import ColumnSummary
from kernsemble.report.plotly_support import jinja2, markupsafe, plotly_js, themes
from kernsemble.report.sections import sections
from kernsemble.report.summary import Summary

DIGITS = 6  # significant digits of the numbers in charts
MAX_COLUMNS = 200  # maximum number of rows of the table of columns
MAX_CLASSES = 20  # maximum number of classes of the confusion matrix
STYLES = ("page.css", "interactive.css")
# A part pushes its start function to window.reportParts; page.js is last.
SCRIPTS = ("threshold.js", "what_if.js", "page.js")


def page(summary: Summary, charts: dict[str, Chart], title: str) -> str:
    """Return the HTML of a report, which loads no external resources."""
    shares = summary.importances
    drawn = {
        "themes": themes(),
        "charts": {
            name: [_plain(each) for each in chart.figures] for name, chart in charts.items()
        },
        "choices": {
            name: [len(options) for options in chart.choices.values()]
            for name, chart in charts.items()
        },
        "threshold": summary.thresholds and asdict(summary.thresholds),
        "what_if": summary.what_if.data,
    }
    script = "\n".join([javascript_reader(), *map(_source, SCRIPTS)])
    return template("page.html").render(
        policy=content_policy(f"\n{script}\n", gzip.decompress(plotly_js())),
        summary=summary,
        charts=charts,
        title=title,
        sections=sections(summary),
        columns=_most_important_columns(summary, shares),
        shares=shares,
        associations=_meanings(summary),
        confusion=_confusion(summary),
        script=markupsafe.Markup(script),
        library=b64encode(plotly_js()).decode(),
        drawn=b64encode(
            gzip.compress(json.dumps(drawn, separators=(",", ":")).encode(), 9, mtime=0)
        ).decode(),
    )


def template(name: str) -> Any:
    """Return a page template, with the style sheet and the time of writing as globals."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    filters: dict[str, Any] = {
        "number": number,
        "score": format_score,
        "bar_path": bar_path,
        "kernel": kernel_text,
    }
    environment.filters |= filters
    environment.globals |= {
        "style": markupsafe.Markup("\n".join(map(_source, STYLES))),
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
    return environment.get_template(name)


def _most_important_columns(summary: Summary, shares: dict[str, float]) -> list[ColumnSummary]:
    """Return the columns of the table, the most important first."""
    ordered = sorted(summary.data.columns, key=lambda column: -shares[column.name])
    return ordered[:MAX_COLUMNS]


def _confusion(summary: Summary) -> list[list[int]]:
    classes = summary.predictions.classes
    is_shown = classes is not None and len(classes) <= MAX_CLASSES
    return summary.predictions.confusion() if is_shown else []


def _meanings(summary: Summary) -> dict[str, str]:
    """Return the meanings of the measures of association that the page uses."""
    found = {each.association.symbol for each in summary.data.columns if each.association}
    return {symbol: meaning for symbol, meaning in MEANINGS.items() if symbol in found}


def bar_path(counts: tuple[int, ...]) -> str:
    """Return the SVG path of bars that are 5 wide and at most 24 high, one every 6."""
    most = max(max(counts), 1)
    tall = [max(round(24 * n / most, 1), 0.6 if n else 0.0) for n in counts]
    return "".join(f"M{6 * k} 24v-{h:g}h5v{h:g}z" for k, h in enumerate(tall))


def _source(name: str) -> str:
    return files("kernsemble.report").joinpath("templates", name).read_text(encoding="utf-8")


def number(value: Any) -> str:
    """Return a number in readable form, and any other value as text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    return readable(float(value)) if math.isfinite(value) else "–"


def _plain(figure: Any) -> dict[str, Any]:
    """Return a figure as plain JSON data, without Plotly's theme, rounded to `DIGITS`."""
    found = figure.to_plotly_json()
    found["layout"].pop("template", None)
    rounded: dict[str, Any] = _rounded(found)
    return rounded


def _rounded(item: Any) -> Any:
    if isinstance(item, dict):
        return {name: _rounded(each) for name, each in item.items()}
    if isinstance(item, (list, tuple, np.ndarray)):
        return [_rounded(each) for each in item]
    if isinstance(item, (float, np.floating)):
        return float(f"{item:.{DIGITS}g}") if math.isfinite(item) else None
    return item.item() if isinstance(item, np.generic) else item
