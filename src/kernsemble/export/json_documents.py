"""Additive models as JSON documents, and the JavaScript that reads them."""

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from kernsemble._files import atomic_write, check_folder
from kernsemble.exceptions import ArgumentError
from kernsemble.export.document_checks import check_document
from kernsemble.export.machine_terms import plain_additive_model
from kernsemble.export.portable_model import PortableModel
from kernsemble.inspection.additive_model import FORMAT, VERSION

PARTS_OF_READER = ("table_row.js", "class_probabilities.js", "additive_model.js")
KEYS = ("task", "classes", "combination", "link", "columns", "machines")


def to_json(model: Any, path: str | os.PathLike[str] | None = None) -> str:
    """Return an additive model as a JSON document.

    The document contains the columns, the function of every column in every machine, and the link
    to probabilities, in full precision; `kernsemble.inspection.additive_model` is the schema.
    Python reads it with `from_json`, and JavaScript with the code of `javascript_reader`.

    Parameters
    ----------
    model : fitted estimator
        Model of stumps and categories, a vote of such machines, or boosted stumps.
    path : str or path, optional
        File to write.

    Returns
    -------
    str

    Raises
    ------
    NotExportableError
        If the model is not a sum over columns; the message names the reason.
    """
    text = _text(plain_additive_model(model)) + "\n"
    if path is not None:
        target = Path(path)
        check_folder(target)
        with atomic_write(target) as part:
            part.write_text(text, encoding="utf-8")
    return text


def from_json(document: str | os.PathLike[str]) -> PortableModel:
    """Return the model of a JSON document.

    Parameters
    ----------
    document : str or path
        The text that `to_json` returned, or the file that it wrote.

    Returns
    -------
    PortableModel
    """
    plain = _parsed(_text_of(document))
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise ValueError(f"the document is no {FORMAT}: pass one that to_json wrote")
    version = plain.get("version")
    if version not in range(1, VERSION + 1):
        raise ValueError(
            f"the document has version {version!r}, and this version of kernsemble reads versions "
            f"up to {VERSION}: export the model again"
        )
    absent = [key for key in KEYS if key not in plain]
    if absent:
        raise ValueError(f"the document lacks {absent[0]!r}: export the model again")
    check_document(plain)
    return PortableModel(plain)  # type: ignore[arg-type]


def _text_of(document: Any) -> str:
    if not isinstance(document, (str, os.PathLike)):
        raise ArgumentError("document", document, "pass the text or the path of a document")
    if isinstance(document, str) and document.lstrip().startswith("{"):
        return document
    if not _is_file(document):
        raise FileNotFoundError(
            f"document = {str(document)[:80]!r}: neither a file nor a document, which begins with "
            "'{'; pass the text that to_json returned, or the file that it wrote"
        )
    return Path(document).read_text(encoding="utf-8")


def _is_file(path: Any) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # longer than a name may be
        return False


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the document is no JSON ({error}): export the model again") from error


def javascript_reader(is_module: bool = False) -> str:
    """Return the JavaScript that reads documents: ``evaluate(model, rowOf(model, record))``.

    With `is_module` it is a CommonJS module for Node.js, else a script for a page.
    """
    folder = files("kernsemble.export").joinpath("javascript")
    parts = [folder.joinpath(name).read_text(encoding="utf-8") for name in PARTS_OF_READER]
    if is_module:
        parts.append("module.exports = { evaluate, rowOf };\n")
    return "\n".join(parts)


def _text(item: Any, indent: str = "") -> str:
    """Return JSON in which lists of numbers and texts are on one line."""
    if isinstance(item, dict) and any(isinstance(each, (dict, list)) for each in item.values()):
        entries = [f"{json.dumps(key)}: {_text(each, indent + ' ')}" for key, each in item.items()]
        return _block("{}", entries, indent)
    if isinstance(item, list) and any(isinstance(each, (dict, list)) for each in item):
        return _block("[]", [_text(each, indent + " ") for each in item], indent)
    return json.dumps(item, ensure_ascii=False, allow_nan=False)


def _block(ends: str, entries: list[str], indent: str) -> str:
    inside = f",\n{indent} ".join(entries)
    return f"{ends[0]}\n{indent} {inside}\n{indent}{ends[1]}"
