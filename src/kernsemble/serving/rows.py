"""Rows of requests: the columns of a model, their validation, and a table of them."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np

from kernsemble.export.refusals import import_extra

Kind: TypeAlias = Literal["number", "category", "date"]

MAX_ERRORS = 20  # maximum number of errors that a refusal lists
REASONS = {
    "missing": "the column is missing: add it, null if its value is",
    "extra_forbidden": "the model has no such column: remove it",
    "json_invalid": "the body is no JSON",
    "too_short": "there are no rows: send at least one",
    "too_long": "there are too many rows: send several requests",
    "float_parsing": "the value is no number",
    "float_type": "the value is no number",
    "finite_number": "the value is no finite number",
    "string_type": "the value is no text",
    "dict_type": "the row is no object: send {column: value, ...}",
}
NO_DATE = "the value is no date such as 2024-03-01 or 2024-03-01T10:30"
NO_NULL = "the value is missing, which the model does not support: fill it in"
NO_ROWS = 'the body has no rows: send {"rows": [{column: value, ...}, ...]}'
NO_KEY = "the body contains rows only: remove what else it has"


@dataclass(frozen=True)
class ServedColumn:
    """A column of the rows that a model predicts.

    Attributes
    ----------
    name : str
        Name.
    kind : {"number", "category", "date"}
        Kind of its entries.
    categories : tuple or None
        The categories of the training rows.
    can_be_missing : bool
        Whether null is allowed.
    """

    name: str
    kind: Kind
    categories: tuple[Any, ...] | None = None
    can_be_missing: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the column as JSON."""
        found: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.categories is not None:
            found["categories"] = [each for each in self.categories if each is not None]
        return {**found, "can_be_missing": self.can_be_missing}

    @property
    def is_text(self) -> bool:
        """Whether the entries are categories of text."""
        known = [each for each in self.categories or () if each is not None]
        return self.kind == "category" and all(isinstance(each, str) for each in known)

    @property
    def entry_type(self) -> Any:
        """Return the type that pydantic validates."""
        pydantic = import_extra("pydantic", "serve")
        number = Annotated[float, pydantic.Field(allow_inf_nan=False)]
        date = Annotated[datetime.datetime, pydantic.BeforeValidator(_date_as_text)]
        kind = {"number": number, "date": date, "category": number}[self.kind]
        kind = str if self.is_text else kind
        return kind | None if self.can_be_missing else kind


class InvalidRowsError(ValueError):
    """Error for a body with invalid rows.

    Attributes
    ----------
    content : dict
        The number of errors, and the row, column, reason and value of the first ones.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        super().__init__(content)
        self.content = content


@dataclass(frozen=True)
class RowReader:
    """The columns of a model, and the maximum number of rows of a request."""

    columns: tuple[ServedColumn, ...]
    has_names: bool
    max_rows: int

    @classmethod
    def of_model(cls, model: Any, max_rows: int) -> Self:
        """Return the columns of a fitted model.

        A column of numbers can be missing if the model predicts a row in which it is.
        """
        table = getattr(model, "mixed_table_", None)
        given = getattr(model, "feature_names_in_", None)
        names = [f"x{d}" for d in range(model.n_features_in_)] if given is None else given
        known = (None,) * len(names) if table is None else table.categories[: len(names)]
        dates = () if table is None else table.dates
        stored = getattr(model, "table_schema_", None)  # of the command line, also of pipelines
        kinds = {} if stored is None else stored.by_name
        columns = tuple(
            ServedColumn(
                str(name),
                kinds.get(
                    str(name),
                    "date" if d in dates else "number" if known[d] is None else "category",
                ),
                known[d],
            )
            for d, name in enumerate(names)
        )
        reader = cls(columns, given is not None, max_rows)
        numbers = [each.name for each in columns if each.kind == "number"]
        if reader._is_predicted_without(model, numbers):
            return reader
        needed = {name for name in numbers if not reader._is_predicted_without(model, [name])}
        checked = [replace(each, can_be_missing=each.name not in needed) for each in columns]
        return replace(reader, columns=tuple(checked))

    def _is_predicted_without(self, model: Any, names: Sequence[str]) -> bool:
        """Return whether a model predicts a row in which some numbers are missing."""
        try:
            model.predict(self.table([{**self.example, **dict.fromkeys(names)}]))
        except ValueError:
            return False
        return True

    @property
    def example(self) -> dict[str, Any]:
        """A row that the model predicts."""
        values = {"number": 0.0, "date": datetime.datetime(2000, 1, 1)}
        return {
            each.name: next((c for c in each.categories or () if c is not None), "")
            if each.kind == "category"
            else values[each.kind]
            for each in self.columns
        }

    def row_type(self, extra: Literal["forbid", "allow"] = "forbid") -> Any:
        """Return the type of a row that pydantic validates, with or without other columns."""
        typed_dict = import_extra("typing_extensions", "serve").TypedDict
        types = {each.name: each.entry_type for each in self.columns}
        found = typed_dict("Row", types)
        found.__pydantic_config__ = {"extra": extra}
        return found

    def body_type(self) -> Any:
        """Return the validator of a body, ``{"rows": [...]}``, which stops at the first error.

        Other columns are allowed, as each would be an error: their number is not limited.
        """
        pydantic = import_extra("pydantic", "serve")
        typed_dict = import_extra("typing_extensions", "serve").TypedDict
        limits = pydantic.Field(min_length=1, max_length=self.max_rows, fail_fast=True)
        found = typed_dict("Body", {"rows": Annotated[list[self.row_type("allow")], limits]})  # type: ignore[misc]
        found.__pydantic_config__ = {"extra": "allow"}
        return pydantic.TypeAdapter(found)

    def table(self, rows: Sequence[dict[str, Any]]) -> Any:
        """Return rows as the model expects them: a table, or an array if it has no names."""
        if not self.has_names:
            values = [[row[each.name] for each in self.columns] for row in rows]
            return np.array(values, dtype=np.float64)
        pl = import_extra("polars", "serve")
        types = {"number": pl.Float64, "date": pl.Datetime("us"), "category": pl.Float64}
        return pl.DataFrame(
            [
                pl.Series(
                    each.name,
                    [row[each.name] for row in rows],
                    pl.String if each.is_text else types[each.kind],
                )
                for each in self.columns
            ]
        )


class BodyReader:
    """The validation of bodies, and the errors of those that are refused.

    A body of the largest size can have a million errors: the first ones are described, row by row.

    Parameters
    ----------
    reader : RowReader
        The columns, and the maximum number of rows.
    """

    def __init__(self, reader: RowReader) -> None:
        pydantic = import_extra("pydantic", "serve")
        self.max_rows, self.names = reader.max_rows, {each.name for each in reader.columns}
        self.body, self.row = reader.body_type(), pydantic.TypeAdapter(reader.row_type())
        self.error = pydantic.ValidationError

    def rows(self, body: bytes) -> list[dict[str, Any]]:
        """Return the rows of a body; raise an error that lists what is wrong with them."""
        try:
            found: dict[str, Any] = self.body.validate_json(body)
        except self.error:
            pass
        else:
            rows: list[dict[str, Any]] = found["rows"]
            if len(found) == 1 and all(len(row) == len(self.names) for row in rows):
                return rows
        errors = self._errors(body)
        n, more = min(len(errors), MAX_ERRORS), "more than " * (len(errors) > MAX_ERRORS)
        refused = f"{more}{n} {'value was' if n == 1 else 'values were'} refused"
        raise InvalidRowsError({"detail": refused, "errors": errors[:MAX_ERRORS]})

    def _errors(self, body: bytes) -> list[dict[str, Any]]:
        """Return the errors of an invalid body, few more than are described."""
        core = import_extra("pydantic_core", "serve")
        try:
            content = core.from_json(body)
        except ValueError:
            return [{"reason": REASONS["json_invalid"]}]
        if not isinstance(content, dict) or "rows" not in content:
            return [{"reason": NO_ROWS}]
        rows = content["rows"]
        if not isinstance(rows, list):
            return [{"reason": NO_ROWS}]
        if not 0 < len(rows) <= self.max_rows:
            return [{"reason": REASONS["too_long" if rows else "too_short"]}]
        found = [{"reason": NO_KEY}] if len(content) > 1 else []
        for n, row in enumerate(rows, start=1):
            try:
                self.row.validate_json(core.to_json(self._shortened(row), inf_nan_mode="constants"))
            except self.error as error:
                each = error.errors(include_url=False, include_context=False)
                found.extend(_described(item, n) for item in each)
            if len(found) > MAX_ERRORS:
                break
        return found

    def _shortened(self, row: Any) -> Any:
        """Return a row with few of the columns that the model does not have."""
        if not isinstance(row, dict):
            return row
        others = [name for name in row if name not in self.names]
        left_out = set(others[MAX_ERRORS + 1 :])
        return {name: value for name, value in row.items() if name not in left_out}


def _date_as_text(value: Any) -> Any:
    """Return a date; raise an error for numbers, which would be seconds since 1970."""
    if isinstance(value, str) and not _is_number(value):
        return value
    raise import_extra("pydantic_core", "serve").PydanticCustomError("datetime_as_text", NO_DATE)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _described(error: Any, row: int) -> dict[str, Any]:
    """Return an error of pydantic in a row, from 1, by its column."""
    found: dict[str, Any] = {"row": row}
    if error["loc"]:
        found["column"] = str(error["loc"][0])
    found["reason"] = _reason(error)
    if error["type"] != "missing" and _is_short(error["input"]):
        found["value"] = error["input"]
    return found


def _reason(error: Any) -> str:
    kind, message = error["type"], error["msg"]
    if error["input"] is None and kind not in {"missing", "extra_forbidden"}:
        return NO_NULL
    if kind.startswith("datetime"):
        return NO_DATE
    return REASONS.get(kind, message[:1].lower() + message[1:])


def _is_short(value: Any) -> bool:
    """Return whether a value can be repeated in a message."""
    return isinstance(value, (str, int, float)) and len(str(value)) <= 100
