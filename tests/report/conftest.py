"""Fixtures: a small paper. Tests in a browser are left out when interpreted for coverage."""

import pytest
from small_paper import place, small

__all__ = ["place", "small"]


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.large)
