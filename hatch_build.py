"""What a wheel takes along besides the package: the papers, and a bill of materials."""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KEPT = ("config.toml", "published.json", "results.jsonl")
LOCK = "requirements.lock"
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\]+))?", re.ASCII)
USER = re.compile(r"^    # (?:via| ) (?P<name>[\w.-]+)(?: \([\w.]+(?P<group>:\w+)?\))?$", re.ASCII)


class WheelBuildHook(BuildHookInterface):
    """Puts the papers where `kernsemble.experiments.folders` reads them, and adds the bill."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files; an editable installation reads those of the clone."""
        if version == "editable":
            return
        for path in Path(self.root, "experiments").glob("*/*"):
            if path.name in KEPT:
                place = f"kernsemble/experiments/papers/{path.parent.name}/{path.name}"
                build_data["force_include"][str(path)] = place
        self.folder = TemporaryDirectory()
        bill = Path(self.folder.name, "kernsemble.cdx.json")
        core, lock = self.metadata.core, Path(self.root, LOCK).read_text(encoding="utf-8")
        content = bill_of_materials(core.name, self.metadata.version, core.dependencies, lock)
        bill.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(bill))

    def finalize(self, version: str, *_: Any) -> None:
        """Remove the folder of the bill."""
        if version != "editable":
            self.folder.cleanup()


def bill_of_materials(
    name: str, version: str, dependencies: Iterable[str], lock: str
) -> dict[str, Any]:
    """Return the packages of a lock file that ours uses, in CycloneDX.

    The wheel contains none of them; these are the versions that it was tested with. Those that
    extras need are optional, and those of the development groups are left out. There is neither a
    date nor a random number, so the same sources make the same wheel.
    """
    pins, users = read_lock(lock)
    required = _reached({re.split(r"[^\w.-]", each)[0] for each in dependencies}, users)
    used = _reached({each for each, by in users.items() if name in by}, users)
    own = _reference(name, version)
    kept = [pin for pin in pins if pin["name"] in used]
    references = {own: name} | {
        _reference(pin["name"], pin["version"]): pin["name"] for pin in kept
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": _component(name, version),
            "properties": [
                {
                    "name": f"{name}:{LOCK}:sha256",
                    "value": hashlib.sha256(lock.encode()).hexdigest(),
                }
            ],
        },
        "components": [
            _component(pin["name"], pin["version"])
            | {"scope": "required" if pin["name"] in required else "optional"}
            | ({"properties": [_marker(name, pin)]} if pin["marker"] else {})
            for pin in kept
        ],
        "dependencies": [
            {
                "ref": reference,
                "dependsOn": [
                    one for one, each in references.items() if user in users.get(each, ())
                ],
            }
            for reference, user in references.items()
        ],
    }


def read_lock(lock: str) -> tuple[list[dict[str, str]], dict[str, set[str]]]:
    """Return the pins of a lock file, and the packages that need each one.

    Users in a development group, such as ``kernsemble (pyproject.toml:dev)``, are left out.
    """
    pins: list[dict[str, str]] = []
    users: dict[str, set[str]] = {}
    for line in lock.splitlines():
        if found := PIN.match(line):
            pins.append({key: (each or "").strip() for key, each in found.groupdict().items()})
            users.setdefault(pins[-1]["name"], set())
        elif (found := USER.match(line)) and not found["group"]:
            users[pins[-1]["name"]].add(found["name"])
    return pins, users


def _reached(names: set[str], users: dict[str, set[str]]) -> set[str]:
    """Return packages, those that they need, and so on."""
    while more := {each for each, by in users.items() if by & names} - names:
        names = names | more
    return names


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _component(name: str, version: str) -> dict[str, Any]:
    reference = _reference(name, version)
    kind = {"type": "library", "name": name, "version": version}
    return {"bom-ref": reference, **kind, "purl": reference}


def _marker(name: str, pin: dict[str, str]) -> dict[str, str]:
    return {"name": f"{name}:marker", "value": pin["marker"]}
