"""Run the programs of the documentation in an empty folder, where they may write files."""

import pytest


@pytest.fixture(autouse=True)
def _empty_folder_of_doctests(request):
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)
