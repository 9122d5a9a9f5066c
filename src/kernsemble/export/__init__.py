"""Models that run without Python: ONNX graphs, JSON documents and SQL queries."""

from kernsemble.export.onnx.model import to_onnx
from kernsemble.export.refusals import NotExportableError

__all__ = ["NotExportableError", "to_onnx"]
