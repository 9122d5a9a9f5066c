"""Node.js for the tests of the JavaScript reader."""

import json
import shutil
import subprocess

import pytest

from kernsemble.export import javascript_reader

NODE = shutil.which("node")


@pytest.fixture(scope="session")
def node(tmp_path_factory):
    """Return a function that evaluates models at rows in Node.js."""
    if NODE is None:
        pytest.skip("Node.js is not installed")
    reader = tmp_path_factory.mktemp("node") / "reader.js"
    reader.write_text(javascript_reader(is_module=True), encoding="utf-8")
    script = (
        f"const {{ evaluate, rowOf }} = require({json.dumps(str(reader))});"
        "const { cases } = JSON.parse(require('fs').readFileSync(0));"
        "console.log(JSON.stringify(cases.map(({ model, rows }) =>"
        " rows.map((row) => evaluate(model, rowOf(model, row))))));"
    )

    def run(cases):
        given = json.dumps({"cases": cases})
        ended = subprocess.run(
            [NODE, "-e", script], input=given, capture_output=True, text=True, check=True
        )
        return json.loads(ended.stdout)

    return run
