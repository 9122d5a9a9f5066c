"""``kernsemble serve``: predictions of a model over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from kernsemble.cli.console import CommandError, import_optional, note
from kernsemble.cli.options import ModelFile


def serve(
    model: ModelFile,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="HTML report to show at /, of kernsemble fit --report."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65_535, help="Port.")] = 8000,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Number of processes; each loads the model.")
    ] = 1,
    max_rows: Annotated[
        int, typer.Option("--max-rows", min=1, help="Maximum number of rows per request.")
    ] = 10_000,
    max_megabytes: Annotated[
        int, typer.Option("--max-megabytes", min=1, help="Maximum size of a request.")
    ] = 10,
) -> None:
    """Serve predictions of a model over HTTP, until Ctrl-C.

    POST rows to /predict or /explain; /schema lists the columns, /docs the interface, / shows the
    report. A worker that dies is started again.
    """
    if report is not None and not report.is_file():
        raise CommandError(f"--report {report}: no such file; write it with kernsemble fit")

    from kernsemble.cli.model_files import load_model

    load_model(model)  # refuses a wrong file before any worker starts
    remedy = "pip install 'kernsemble[serve]'"
    settings = import_optional("serving", "Settings", "serving models", remedy)
    run = import_optional("serving", "serve", "serving models", remedy)
    shown = f"[{host}]" if ":" in host else host
    note(f"serving {model} at http://{shown}:{port}; stop with Ctrl-C")
    run(
        settings(
            str(model.resolve()),
            None if report is None else str(report.resolve()),
            host,
            port,
            workers,
            max_rows,
            max_bytes=max_megabytes * 1_000_000,
        )
    )
    note("stopped")
