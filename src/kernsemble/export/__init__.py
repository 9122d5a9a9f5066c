"""Models that run without Python: ONNX graphs, JSON documents and SQL queries."""

from kernsemble.export.json_documents import from_json, javascript_reader, to_json
from kernsemble.export.onnx.converters import register_converters
from kernsemble.export.onnx.model import to_onnx
from kernsemble.export.portable_model import PortableModel
from kernsemble.export.refusals import NotExportableError
from kernsemble.export.sql.select import to_sql

__all__ = [
    "NotExportableError",
    "PortableModel",
    "from_json",
    "javascript_reader",
    "register_converters",
    "to_json",
    "to_onnx",
    "to_sql",
]
