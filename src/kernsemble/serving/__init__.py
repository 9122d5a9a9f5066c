"""A small server of predictions: one model, JSON over HTTP."""

from kernsemble.serving.app import create_app
from kernsemble.serving.server import Settings, serve

__all__ = ["Settings", "create_app", "serve"]
