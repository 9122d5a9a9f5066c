"""Checks of documents of additive models: the types of all values, and sizes that must agree."""

import sys
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import numpy as np

from kernsemble.inspection.additive_model import AdditiveModel

PARTS_OF_DATES = ("month", "weekday", "hour")


def check_document(plain: Any) -> None:
    """Raise a `ValueError` that names the place, unless a document is a complete model."""
    _check_type(plain, AdditiveModel, "the document")
    columns, machines = plain["columns"], plain["machines"]
    _require(len(machines) == _n_machines(plain), "machines", "one per class or pair of classes")
    _require(plain["link"] != "softmax" or plain["classes"] is not None, "classes", "the classes")
    names = [each["name"] for each in columns if "part_of" not in each]
    for d, column in enumerate(columns):
        place = f"columns[{d}]"
        is_part = column.get("part") in PARTS_OF_DATES and column.get("part_of") in names
        _require(is_part or not {"part", "part_of"} & set(column), place, "a part of a date")
        is_whole = (column["kind"] == "category") == ("categories" in column)
        _require(is_whole, place, "categories if its kind is category")
    for k, machine in enumerate(machines):
        place = f"machines[{k}]"
        functions = machine["functions"]
        _require(len(functions) == len(columns), place, "one function per column")
        for d, (function, column) in enumerate(zip(functions, columns, strict=True)):
            _check_function(function, column, f"{place}.functions[{d}]")
        for number, pair in enumerate(machine.get("pairs", ())):
            _check_pair(pair, columns, f"{place}.pairs[{number}]")
        is_curve = (machine["curve"] is not None) == (plain["link"] == "curves")
        _require(is_curve, f"{place}.curve", "a curve if the link is curves")
        if machine["curve"] is not None:
            _check_curve(machine["curve"], f"{place}.curve")


def _n_machines(plain: Mapping[str, Any]) -> int:
    """Return the number of machines that the classes need."""
    n = 0 if plain["classes"] is None else len(plain["classes"])
    _require((n >= 2) == (plain["task"] == "classification"), "classes", "those of the task")
    combination = plain["combination"]
    is_single = combination == "one machine"
    _require(is_single == (n <= 2), "combination", "one machine for two classes or a number")
    return 1 if is_single else n if combination == "one per class" else n * (n - 1) // 2


def _check_function(function: Mapping[str, Any], column: Mapping[str, Any], place: str) -> None:
    if "knots" in function:
        knots = function["knots"]
        _require(len(knots) > 0 and _ascend(knots), f"{place}.knots", "ascending numbers")
        for key in ("values", *({"above"} & set(function))):
            _require(len(function.get(key, ())) == len(knots), f"{place}.{key}", "one per knot")
        _require(len(function.get("slopes", "12")) == 2, f"{place}.slopes", "two numbers")
    points = column.get("categories", function.get("points", ()))
    if "points" in function or "heights" in function:
        _require(len(function.get("heights", ())) == len(points), f"{place}.heights", "all heights")
    if "points" in function:
        _require(_ascend(function["points"]), f"{place}.points", "ascending numbers")
        _require(function.get("tolerance", -1.0) >= 0.0, f"{place}.tolerance", "0 or above")


def _check_pair(pair: Mapping[str, Any], columns: Sequence[Any], place: str) -> None:
    chosen, heights = pair["columns"], pair["heights"]
    _require(
        len(chosen) == 2 and all(0 <= d < len(columns) and "levels" in columns[d] for d in chosen),
        f"{place}.columns",
        "two columns with levels",
    )
    sizes = [_n_levels(columns[d]["levels"]) for d in chosen]
    found = [len(heights), *{len(row) for row in heights}]
    _require(found == sizes, f"{place}.heights", f"{sizes[0]} rows of {sizes[1]} numbers")


def _n_levels(levels: Mapping[str, Any]) -> int:
    """Return the number of levels of a column."""
    ends = [levels["missing"], *levels.get("categories", [len(levels.get("cuts", ()))])]
    _require(min(ends) >= 0, "levels", "places from 0")
    return 1 + max(ends)


def _check_curve(curve: Mapping[str, Any], place: str) -> None:
    if curve["kind"] != "isotonic":
        _require({"slope", "offset"} <= set(curve), place, "slope and offset")
        return
    knots, levels = curve.get("knots", ()), curve.get("levels", ())
    is_complete = 0 < len(knots) == len(levels) and _ascend(knots)
    _require(is_complete, place, "one level per ascending knot")


def _ascend(numbers: Sequence[float]) -> bool:
    return bool((np.diff(numbers) >= 0.0).all())


def _check_type(value: Any, kind: Any, place: str) -> None:
    """Raise an error unless a value of a document has the type of its annotation."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is NotRequired:
        _check_type(value, arguments[0], place)
    elif hasattr(kind, "__required_keys__"):
        _check_entries(value, kind, place)
    elif origin is Literal:
        _require(isinstance(value, str) and value in arguments, place, f"one of {arguments}")
    elif origin in (Union, UnionType):
        if value is not None or NoneType not in arguments:
            _check_type(value, next(each for each in arguments if each is not NoneType), place)
    elif origin is list:
        _require(isinstance(value, list), place, "a list")
        for k, each in enumerate(value):
            _check_type(each, arguments[0], f"{place}[{k}]")
    else:
        _require(_is_plain(value, kind), place, getattr(kind, "__name__", "a plain value"))


def _check_entries(value: Any, kind: Any, place: str) -> None:
    _require(isinstance(value, dict), place, "an object")
    for key, each in get_type_hints(kind, include_extras=True).items():
        if key in value:
            _check_type(value[key], each, f"{place}.{key}")
        else:
            is_optional = key not in kind.__required_keys__ or key == "pairs"  # since version 2
            _require(is_optional, place, f"the key {key!r}")


def _is_plain(value: Any, kind: Any) -> bool:
    """Return whether a value is a text, a whole or finite number, or any of these."""
    if kind is Any:
        return value is None or isinstance(value, (str, int, float))
    if kind in (int, float) and isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max
    return isinstance(value, kind)


def _require(holds: bool, place: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"{place} is damaged: expected {expected}; export the model again")
