"""HTML reports about fitted models.

`Summary` holds the numbers, `Chart` the Plotly figures, and `Report` writes both as one HTML file
that opens offline.
"""

from kernsemble.report.charts import Chart
from kernsemble.report.report import Report, write_report
from kernsemble.report.summary import Summary

__all__ = ["Chart", "Report", "Summary", "write_report"]
