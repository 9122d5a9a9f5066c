"""The web application: predictions, explanations, the schema and the report of a model."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

from kernsemble.export.refusals import import_extra
from kernsemble.serving.body_limit import BodyLimit
from kernsemble.serving.predictor import Predictor
from kernsemble.serving.rows import BodyReader, InvalidRowsError, RowReader

MAX_ROWS, MAX_EXPLAINED_ROWS, MAX_BYTES = 10_000, 100, 10_000_000

DESCRIPTION = "Predictions of one fitted model. Rows are objects with a value for every column."


def create_app(
    model: Any,
    report: str | None = None,
    *,
    max_rows: int = MAX_ROWS,
    max_explained_rows: int = MAX_EXPLAINED_ROWS,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Return the FastAPI application of a fitted model.

    ``POST /predict`` and ``POST /explain`` have a body ``{"rows": [{column: value, ...}, ...]}``;
    missing values are null, dates text such as 2024-03-01. Invalid rows are refused with status
    422, and each error names its row, column and reason. ``GET /schema`` describes the columns,
    ``/health`` the worker, ``/docs`` and ``/openapi.json`` the interface; ``/`` is the report.

    Parameters
    ----------
    model : fitted estimator
        Model that predicts.
    report : str, optional
        HTML page to show, such as the one of `kernsemble.report.write_report`.
    max_rows, max_explained_rows : int
        Maximum number of rows of a request.
    max_bytes : int
        Maximum number of bytes of a body.

    Returns
    -------
    fastapi.FastAPI

    Examples
    --------
    >>> from fastapi.testclient import TestClient
    >>> from sklearn.datasets import load_iris
    >>> from kernsemble.serving import create_app
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> client = TestClient(create_app(InfiniteEnsembleClassifier().fit(X, y)))
    >>> row = {"x0": 5.1, "x1": 3.5, "x2": 1.4, "x3": 0.2}
    >>> client.post("/predict", json={"rows": [row]}).json()
    {'predictions': [{'prediction': 0}]}
    >>> client.post("/predict", json={"rows": [{**row, "x3": "wide"}]}).json()["errors"]
    [{'row': 1, 'column': 'x3', 'reason': 'the value is no number', 'value': 'wide'}]
    """
    fastapi = import_extra("fastapi", "serve")
    responses = import_extra("fastapi.responses", "serve")
    pydantic = import_extra("pydantic", "serve")
    to_json = import_extra("pydantic_core", "serve").to_json
    predictor = Predictor.of_model(model, max_rows)
    explained = Predictor(
        model, _with_max_rows(predictor.reader, max_explained_rows), predictor.started
    )
    app = fastapi.FastAPI(
        title=f"kernsemble: {type(model).__name__}",
        version=predictor.health()["kernsemble"],
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(BodyLimit, max_bytes=max_bytes)
    turn = asyncio.Lock()  # a prediction uses all cores

    def respond(content: Any, status: int = 200) -> Any:
        text = to_json(content, inf_nan_mode="null")
        return fastapi.Response(text, status, media_type="application/json")

    async def answer(
        request: Any, bodies: BodyReader, work: Callable[[list[dict[str, Any]]], Any], name: str
    ) -> Any:
        try:
            rows = bodies.rows(await request.body())
            async with turn:
                found = await asyncio.to_thread(work, rows)
        except InvalidRowsError as error:
            return respond(error.content, 422)
        except (TypeError, ValueError) as error:
            return respond({"detail": str(error), "errors": []}, 422)
        return respond({name: found})

    def post(path: str, owner: Predictor, work: Any, name: str, summary: str) -> None:
        bodies = BodyReader(owner.reader)
        row = pydantic.TypeAdapter(owner.reader.row_type()).json_schema()
        rows = {"type": "array", "items": row, "minItems": 1, "maxItems": owner.reader.max_rows}
        body = {"type": "object", "properties": {"rows": rows}, "required": ["rows"]}
        content = {"application/json": {"schema": body}}
        extra = {"requestBody": {"required": True, "content": content}}
        errors: dict[int | str, Any] = {
            413: {"description": "The body is too large"},
            422: {"description": "Invalid rows, with the row, column and reason of each error"},
        }

        async def endpoint(request: Any) -> Any:
            return await answer(request, bodies, work, name)

        endpoint.__annotations__ = {"request": fastapi.Request}
        app.post(path, summary=summary, openapi_extra=extra, responses=errors)(endpoint)

    post("/predict", predictor, predictor.predictions, "predictions", "Predict rows")
    post("/explain", explained, explained.explanations, "explanations", "Contributions of columns")

    async def schema() -> Any:
        return respond(predictor.schema())

    async def health() -> Any:
        return respond(predictor.health())

    async def index() -> Any:
        return responses.HTMLResponse(_page("docs.html") if report is None else report)

    async def docs() -> Any:
        return responses.HTMLResponse(_page("docs.html"))

    app.add_api_route("/schema", schema, summary="Columns, classes and limits")
    app.add_api_route("/health", health, summary="State of this worker")
    app.add_api_route("/", index, include_in_schema=False)
    app.add_api_route("/docs", docs, include_in_schema=False)
    return app


def _page(name: str) -> str:
    return files("kernsemble.serving").joinpath(name).read_text(encoding="utf-8")


def _with_max_rows(reader: RowReader, max_rows: int) -> RowReader:
    return replace(reader, max_rows=max_rows)
