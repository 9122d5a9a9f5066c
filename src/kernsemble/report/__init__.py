"""A fitted model as one self-contained page: summary, then figures, then the page.

The summary is plain numbers, the figures are Plotly's, the page is one file that opens offline.
"""

from kernsemble.report.charts import Chart
from kernsemble.report.report import Report, write_report
from kernsemble.report.summary import Summary

__all__ = ["Chart", "Report", "Summary", "write_report"]
