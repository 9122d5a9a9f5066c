"""Compare kernels that are ensembles with forests and boosting, and write demo-report.html.

Run by ``make demo``.
"""

from kernsemble.report.demo import demo

if __name__ == "__main__":
    demo("demo-report.html", print)
