"""Optional libraries of reports, and the light and dark themes of Plotly charts."""

import gzip
from functools import cache
from importlib.resources import files
from typing import Any

try:
    import jinja2
    import markupsafe
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ImportError as error:
    raise ImportError(
        f"reports need {error.name}, which is not installed: pip install 'kernsemble[report]'"
    ) from error

__all__ = ["go", "jinja2", "make_subplots", "markupsafe", "plotly_js", "themes"]

# Okabe and Ito's colour-blind safe palette; brighter variants on dark pages.
ON_WHITE = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B07800", "#3A8FC7", "#555555", "#882255")
ON_BLACK = ("#56B4E9", "#E69F00", "#2EBF94", "#DE9BC2", "#F0E442", "#FF8A4C", "#BBBBBB", "#8FD0FF")


@cache
def plotly_js() -> bytes:
    """Return plotly.js, compressed to a third of its size."""
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return gzip.compress(script, 9, mtime=0)


def themes() -> dict[str, dict[str, Any]]:
    """Return the Plotly templates for light and dark pages."""
    return {
        "light": _theme(ON_WHITE, "#1c1c1c", "#e2e2e2", "#9a9a9a", "#ffffff"),
        "dark": _theme(ON_BLACK, "#e8e8e8", "#3a3d42", "#8a8a8a", "#1d2024"),
    }


def _theme(colours: tuple[str, ...], ink: str, grid: str, line: str, ground: str) -> dict[str, Any]:
    axis = {
        "gridcolor": grid,
        "linecolor": line,
        "zerolinecolor": line,
        "zerolinewidth": 1,
        "automargin": True,
        "exponentformat": "power",
        "minexponent": 6,  # 200,000, not 2×10⁵
        "separatethousands": True,
        "title": {"standoff": 8},
    }
    return {
        "layout": {
            "colorway": list(colours),
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": ink},
            "title": {"font": {"size": 14}, "x": 0, "xanchor": "left", "xref": "paper"},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hoverlabel": {"bgcolor": ground, "bordercolor": line, "font": {"color": ink}},
            "margin": {"l": 8, "r": 8, "t": 36, "b": 8},
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            "showlegend": False,
            "xaxis": axis,
            "yaxis": axis,
        }
    }
