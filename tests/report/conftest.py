"""Fixtures: a small paper. Tests in a browser, and of votes, are not run interpreted."""

import pytest
from small_paper import place, small

__all__ = ["place", "small"]


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items):
    for item in items:
        is_of_vote = "[vote" in item.name  # of models by name
        if is_of_vote or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.large)
