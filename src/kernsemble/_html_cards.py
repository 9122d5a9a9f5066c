"""Small cards of HTML with a picture, for notebooks: one element, no script, any theme."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

MAX_BARS = 10  # maximum number of bars or dots
MAX_NAME = 30  # maximum number of characters of a name in a picture
WIDTH, NAMES, ROW = 420, 190, 18  # of pictures, of the names in them, and of a row, in pixels
ACCENT, QUIET = "#3b82c4", "#8a8f98"  # readable on light and dark backgrounds
STYLE = (
    "display:inline-block;max-width:100%;padding:8px 12px;margin:2px 0;"
    "border:1px solid rgba(128,128,128,.45);border-radius:6px;"
    "font-family:sans-serif;font-size:13px;line-height:1.4;color:inherit"
)
TABLE = "border-collapse:collapse;margin:4px 0;background:none;color:inherit;font:inherit"


def card(title: str, facts: Mapping[str, str], picture: str = "") -> str:
    """Return a card with a title, a table of facts and a picture (SVG)."""
    rows = "".join(
        f'<tr><td style="color:{QUIET};padding:0 10px 0 0;text-align:left">{escape(name)}</td>'
        f'<td style="padding:0;text-align:left">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return (
        f'<div class="kernsemble-card" style="{STYLE}"><strong>{escape(title)}</strong>'
        f'<table style="{TABLE}">{rows}</table>'
        f"{picture}</div>"
    )


def bar_chart(values: Mapping[str, float], caption: str) -> str:
    """Return bars from zero, the largest first; no picture without values."""
    present = [name for name, value in values.items() if value > 0.0]
    shown = sorted(present, key=lambda name: -values[name])[:MAX_BARS]
    if not shown:
        return ""
    largest = values[shown[0]]
    marks = []
    for row, name in enumerate(shown):
        length = (WIDTH - NAMES - 50) * values[name] / largest
        marks.append(
            f'<rect x="{NAMES}" y="{ROW * row + 3}" width="{length:.1f}" height="{ROW - 6}" '
            f'fill="{ACCENT}"/>'
            + _text(NAMES + length + 4, row, f"{values[name]:.3g}")
            + _text(NAMES - 6, row, _cut(name), "end")
        )
    left_out = len(present) - len(shown)
    return _picture(marks, len(shown), caption + (f", {left_out} more" if left_out else ""))


def dot_chart(
    means: Mapping[str, float], errors: Mapping[str, float], caption: str, digits: int = 3
) -> str:
    """Return dots with whiskers of one standard error, the largest first."""
    shown = sorted(means, key=lambda name: -means[name])[:MAX_BARS]
    low = min(means[name] - errors[name] for name in shown)
    high = max(means[name] + errors[name] for name in shown)
    width = WIDTH - NAMES - 60

    def place(value: float) -> float:
        return NAMES + 4 + width * (value - low) / ((high - low) or 1.0)

    marks = []
    for row, name in enumerate(shown):
        y, color = ROW * row + ROW / 2, ACCENT if row == 0 else QUIET
        start, stop = place(means[name] - errors[name]), place(means[name] + errors[name])
        marks.append(
            f'<line x1="{start:.1f}" x2="{stop:.1f}" y1="{y}" y2="{y}" stroke="{color}" '
            'stroke-width="2"/>'
            f'<circle cx="{place(means[name]):.1f}" cy="{y}" r="4" fill="{color}"/>'
            + _text(WIDTH - 48, row, f"{means[name]:.{digits}f}")
            + _text(NAMES - 6, row, _cut(name), "end")
        )
    left_out = len(means) - len(shown)
    return _picture(marks, len(shown), caption + (f", {left_out} more" if left_out else ""))


def curve(x: Sequence[float], y: Sequence[float], selected: int, caption: str) -> str:
    """Return a curve over a logarithmic axis of positive numbers, with the selected point."""
    height, left, along = 5 * ROW, 50, np.log(np.asarray(x, dtype=float))
    order, values = np.argsort(along), np.asarray(y, dtype=float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))

    def place(k: int) -> tuple[float, float]:
        across = (along[k] - along.min()) / (np.ptp(along) or 1.0)
        up = (values[k] - low) / ((high - low) or 1.0)
        return left + (WIDTH - left - 20) * across, height - 8 - (height - 20) * up

    points = [place(k) for k in order if np.isfinite(values[k])]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    a, b = place(selected)
    marks = [
        f'<polyline points="{line}" fill="none" stroke="{QUIET}" stroke-width="2"/>',
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="5" fill="{ACCENT}"/>',
        _text(left - 6, 0, f"{high:.3f}", "end"),
        _text(left - 6, 4, f"{low:.3f}", "end"),
    ]
    return _picture(marks, 5, caption)


def _text(x: float, row: int, words: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{ROW * row + 13}" text-anchor="{anchor}" fill="currentColor" '
        f'font-size="11">{escape(words)}</text>'
    )


def _cut(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def _picture(marks: Sequence[str], n_rows: int, caption: str) -> str:
    height = ROW * n_rows
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" style="max-width:100%;display:block" '
        f'aria-label="{escape(caption)}">{"".join(marks)}</svg>'
        f'<div style="color:{QUIET};font-size:11px">{escape(caption)}</div>'
    )
