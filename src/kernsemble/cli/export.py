"""``kernsemble export``: a model as an ONNX graph, a JSON document or an SQL query."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import WrongUsageError, import_optional, note, write_json
from kernsemble.cli.options import Force, Json, ModelFile, check_output


class Format(StrEnum):
    """Formats that models are exported to."""

    ONNX = "onnx"
    JSON = "json"
    SQL = "sql"


class Database(StrEnum):
    """Databases that queries are written for."""

    DUCKDB = "duckdb"
    SQLITE = "sqlite"


def export(
    model: ModelFile,
    to: Annotated[Format, typer.Option("--to", help="Format.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")],
    dialect: Annotated[Database, typer.Option("--dialect", help="Database of --to sql.")] = (
        Database.DUCKDB
    ),
    table: Annotated[str, typer.Option("--table", help="Table that --to sql selects from.")] = (
        "rows"
    ),
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Column that --to sql copies, such as a key; repeatable."),
    ] = None,
    contributions: Annotated[
        bool,
        typer.Option("--contributions", help="Also return the contribution of every column."),
    ] = False,
    reader: Annotated[
        Path | None,
        typer.Option("--reader", help="JavaScript file to write, which reads --to json."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Export a model, so that it runs in other languages, browsers and databases.

    JSON and SQL express additive models (stumps and categories, and boosted stumps); ONNX also
    expresses kernels. A model that cannot be exported is refused with the reason.
    """
    if reader is not None and to != Format.JSON:
        raise WrongUsageError(f"--reader {reader} is for --to json: leave it out")
    if to != Format.SQL and keep:
        raise WrongUsageError(f"--keep {keep[0]!r} is for --to sql: leave it out")
    if to == Format.JSON and contributions:
        raise WrongUsageError("--contributions: JSON documents contain them already: leave it out")
    check_output("--out", out, force, (model,))
    if reader is not None:
        check_output("--reader", reader, force, (model, out))

    from kernsemble.cli.model_files import load_model

    fitted = load_model(model)
    write = import_optional("export", f"to_{to.value}", f"exporting to {to.value}")
    settings: dict[str, Any] = {}
    if to == Format.SQL:
        settings = {"dialect": dialect.value, "table": table, "keep": keep or ()}
    if to != Format.JSON:
        settings["contributions"] = contributions
    write(fitted, path=out, **settings)
    if reader is not None:
        source = import_optional("export", "javascript_reader", "writing --reader")
        with atomic_write(reader) as part:
            part.write_text(source(is_module=True), encoding="utf-8")
    n_bytes = out.stat().st_size
    if json:
        written = {"output": str(out), "bytes": n_bytes, "reader": reader and str(reader)}
        write_json({"command": "export", "format": to.value, **written})
        return
    note(f"wrote {out}, {n_bytes:,} bytes" + ("" if reader is None else f"; its reader {reader}"))
