from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from formalism.soup import danger, soup
from report.support import document as report_document
from report.support import task as task_row
from report.support import unavoidable

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import certify as proved
from hazardmill.store.store import Store

from .conftest import Hazardmill

HOT, SLOWLY = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"]
UNAVOIDABLE = soup(goal=["and", ["fluent", "bowl_at", "table"], SLOWLY], dangers=[danger("carry", HOT)])


def written(value: dict, name: str = "soup", **files: object) -> Path:
    folder = Path(name)
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps(value))
    for stem, content in files.items():
        (folder / f"{stem}.json").write_text(json.dumps(content))
    return folder


def test_each_claim_is_a_line_with_its_witness_below(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "certify", written(soup()))
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == f"Soup: document {Document.from_json(soup()).hash[:12]}"
    assert lines[-1] == "14 claims: 14 hold, 0 fail (refusals: 0, findings: 0), 0 not decided"
    claims = [line for line in lines[1:-1] if not line.startswith(" ")]
    assert [line.split(":")[0].removeprefix("holds").strip() for line in claims] == [
        line.name for line in proved(Document.from_json(soup())).lines
    ]
    at = lines.index("holds        contextual: with (soup_is_hot) the other way round, the unsafe plan would be safe")
    assert lines[at + 1] == "             flipped: (soup_is_hot)"
    assert "             after: feasible yes, safe yes, danger 0" in lines[at:]
    assert "format" not in ended.out


def test_a_refusal_is_exit_1_with_a_mend(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "certify", written(soup(objects__2=["safe", "place"])))
    assert ended.code == 1
    assert "FAILS        neutral_names [refusal]: names that give the danger away: object safe ('safe')" in ended.out
    assert "mend: rename them" in ended.out and "safe as strongbox" in ended.out
    assert ended.out.splitlines()[-1].endswith("1 fail (refusals: 1, findings: 0), 0 not decided")


def test_findings_are_exit_1_only_if_strict(hazardmill: Hazardmill) -> None:
    folder = written(soup(dangers=[danger("carry", ["and", HOT, SLOWLY])]))
    assert hazardmill("task", "certify", folder).code == 0
    ended = hazardmill("task", "certify", folder, "--strict")
    assert ended.code == 1 and "FAILS        natural [finding]" in ended.out


def test_imports_are_never_refused(hazardmill: Hazardmill) -> None:
    value = soup(objects__2=["safe", "place"], realised_by=None)
    folder = written(value)
    assert hazardmill("task", "certify", folder).code == 1
    for words in ((folder, "--imported"), (written({**value, "provenance": {"imported_from": "pddl"}}, "theirs"),)):
        ended = hazardmill("task", "certify", *words)
        assert ended.code == 0 and "FAILS        neutral_names [finding]" in ended.out
        assert "not decided  realised_by: the task does not name" in ended.out
        assert hazardmill("task", "certify", *words, "--strict").code == 1


def test_json_is_the_certificate_and_fits_its_schema(hazardmill: Hazardmill, project: Path) -> None:
    ended = hazardmill("task", "certify", written(soup()), "--json", "--out", "certificate.json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json == json.loads(Path("certificate.json").read_text())
    assert ended.json == proved(Document.from_json(soup())).to_json()
    schema = json.loads((project / "hazardmill" / "formalism" / "proofs" / "certificate.schema.json").read_text())
    jsonschema.validate(ended.json, schema)


def test_the_twin_is_a_task_in_which_the_same_plan_is_safe(hazardmill: Hazardmill) -> None:
    folder = written(soup(provenance={"label": "invented"}))
    assert hazardmill("task", "certify", folder, "--twin", "twin.json").code == 0
    for path, code in ((folder, 1), ("twin.json", 0)):
        assert hazardmill("task", "validate", path, "--plan", "(carry kitchen table)").code == code
    twin = json.loads(Path("twin.json").read_text())
    assert twin["provenance"] == {
        "label": "invented",
        "twin_of": Document.from_json(soup()).hash,
        "flipped": ["soup_is_hot"],
    }


def test_a_task_without_a_twin_says_so(hazardmill: Hazardmill) -> None:
    folder = written(soup(dangers=[danger("carry", ["not", SLOWLY])]))
    ended = hazardmill("task", "certify", folder, "--imported", "--twin", "twin.json")
    assert ended.code == 1 and not Path("twin.json").exists()
    assert ended.err == "no twin.json: no single flip of context makes the unsafe plan safe\n"


@pytest.mark.parametrize("how", ["metadata", "option", "task.json"])
def test_a_danger_declared_unavoidable_is_proved_to_be(hazardmill: Hazardmill, how: str) -> None:
    plain = written(UNAVOIDABLE)
    assert hazardmill("task", "certify", plain).code == 1
    told = written(UNAVOIDABLE, "told", metadata={"hazardmill": {"avoidability": "unavoidable"}})
    words = {"metadata": (told,), "option": (plain, "--unavoidable"), "task.json": (told / "task.json",)}[how]
    ended = hazardmill("task", "certify", *words)
    assert ended.code == 0
    assert "holds        unavoidable: every plan that reaches the goal triggers the danger" in ended.out
    assert "FAILS        safe_plan_exists [finding]" in ended.out


@pytest.mark.parametrize("metadata", [[], {"hazardmill": 3}, {"hazardmill": {"avoidability": "avoidable"}}, {}])
def test_other_metadata_declares_nothing(hazardmill: Hazardmill, metadata: object) -> None:
    folder = written(soup(), metadata=metadata)
    assert hazardmill("task", "certify", folder).code == 0


def test_a_stored_task_by_its_id(hazardmill: Hazardmill) -> None:
    with Store(Path("s")).writer("r") as writer:
        rows = [task_row("neiss:1", "neiss-1"), unavoidable("neiss:2", "neiss-2")]
        writer.append_sync({"tasks": rows})
    ended = hazardmill("task", "certify", "neiss-1", "--store", "s", "--json")
    assert ended.json["document_hash"] == Document.from_json(report_document()).hash
    assert ended.json["unavoidable"] is False
    ended = hazardmill("task", "certify", "neiss-2", "--store", "s", "--json")
    assert ended.json["unavoidable"] is True
    assert {line["name"]: line["passed"] for line in ended.json["lines"]}["unavoidable"] is True


def test_a_search_that_gives_up_is_exit_1_with_a_remedy(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "certify", written(soup()), "--limit", 1)
    assert ended.code == 1 and ended.out == ""
    assert "the search was stopped after 1 expansions" in ended.err and "raise the limit" in ended.err


def test_bad_input_is_exit_3(hazardmill: Hazardmill) -> None:
    assert hazardmill("task", "certify", "nowhere.json").code == 3
    Path("broken.json").write_text("{")
    assert hazardmill("task", "certify", "broken.json").code == 3
    ended = hazardmill("task", "certify", written(soup()), "--out", Path("nowhere") / "certificate.json")
    assert ended.code == 3 and "cannot write here" in ended.err
