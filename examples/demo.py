"""Compare infinite ensembles with forests and boosting, and write demo-report.html.

``make demo`` runs this script.
"""

from kernsemble.report.demo import demo

if __name__ == "__main__":
    demo("demo-report.html", print)
