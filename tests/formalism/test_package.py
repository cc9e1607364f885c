from __future__ import annotations

import json
import subprocess
import sys

import pytest

FAST = [
    "hazardmill.formalism." + name
    for name in ("semantics.plan_validator", "document.document", "search.exact", "proofs.certificate", "task_main")
]
HEAVY = {
    "click",
    "duckdb",
    "httpx",
    "jinja2",
    "matplotlib",
    "numpy",
    "prefect",
    "pyarrow",
    "pydantic",
    "rich",
    "unified_planning",
    "yaml",
}


def packages_after(code):
    """The top-level packages that a fresh interpreter holds after running ``code``."""
    program = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize("modules", [FAST, ["hazardmill.formalism.authoring"]], ids=["verdicts", "authoring"])
def test_the_formalism_is_standard_library_only(modules):
    loaded = packages_after(f"import {', '.join(modules)}")
    assert not loaded & HEAVY
    # What the interpreter itself loads at its start (site hooks of an environment) is not ours.
    assert loaded - sys.stdlib_module_names <= packages_after("pass") | {"hazardmill"}
