"""docs/formalism.md says what the code does."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from hazardmill.formalism.certificate import certify
from hazardmill.formalism.system import System
from hazardmill.formalism.verdicts import verdict

from .soup import soup_document


@pytest.fixture(scope="module")
def blocks(project):
    text = (project / "docs" / "formalism.md").read_text()
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


def test_the_worked_example(blocks, tmp_path):
    (_, code), (_, plans), (_, judged), (_, told) = blocks
    path = tmp_path / "code.py"
    path.write_text(code)
    for arguments, expected in (([], plans), (["-plan", "(CARRY kitchen table)"], judged)):
        done = subprocess.run(
            [sys.executable, str(path), *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.stdout == expected
        assert done.returncode == len(arguments) // 2
    names: dict = {"__name__": "code"}
    exec(compile(code, "code.py", "exec"), names)
    document = names["ServeSoup"]().document()
    found = verdict(System(document), "(carry table kitchen) (fly) (carry kitchen table)")
    assert json.loads(json.dumps(found.to_json())) == json.loads(told)
    assert certify(document).twin == ("soup_is_hot",)


def test_every_line_of_a_certificate_is_explained(project):
    text = (project / "docs" / "formalism.md").read_text()
    for line in certify(soup_document()).lines:
        assert f"| `{line.name}`" in text
        row = next(row for row in text.splitlines() if row.startswith(f"| `{line.name}`"))
        assert row.endswith(f"| {line.severity} |")
