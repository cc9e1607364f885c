from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.sandbox.check import CheckFailure, check, check_async
from hazardmill.sandbox.jail import Jail
from hazardmill.sandbox.proving import Provers, provers


def failure(code: str, jail: Jail) -> CheckFailure:
    answer = check(code, jail)
    assert isinstance(answer, CheckFailure)
    return answer


def test_the_document_is_the_one_the_code_makes(jail: Jail, soup: str) -> None:
    namespace: dict[str, Any] = {"__name__": "trusted_here"}
    exec(soup, namespace)
    assert check(soup, jail) == namespace["ServeSoup"]().document()


def test_async_gives_the_same(jail: Jail, soup: str) -> None:
    assert asyncio.run(check_async(soup, jail)) == check(soup, jail)
    refused = asyncio.run(check_async("import os\n", jail))
    assert isinstance(refused, CheckFailure) and refused == check("import os\n", jail)
    provers().close()


def test_async_survives_code_that_ends_what_parses_it(jail: Jail, soup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = Provers(memory=4096)
    monkeypatch.setattr("hazardmill.sandbox.check.provers", lambda: short)
    refused = asyncio.run(check_async("x = " + "[1, 2], " * 20_000, jail))
    short.close()
    assert isinstance(refused, CheckFailure)
    assert (refused.stage, refused.reason) == ("policy", "syntax") and "too much memory" in refused.message


def test_policy_comes_first_and_names_what_it_found(jail: Jail, soup: str) -> None:
    found = failure("import os\n" + soup.replace("self.goal(", "eval("), jail)
    assert (found.stage, found.reason, found.line) == ("policy", "policy", 1)
    assert found.message.startswith("import of os; line 18: use of eval")
    assert found.mend
    assert "import only names" in found.mend


def test_many_findings_are_counted_not_listed(jail: Jail, soup: str) -> None:
    found = failure("import os\n" * 9 + soup, jail)
    assert found.message.endswith("and 4 more")


def test_syntax(jail: Jail, soup: str) -> None:
    found = failure(soup.replace("self.goal(", "self.goal(("), jail)
    assert (found.stage, found.reason, found.line) == ("policy", "syntax", 17)


def test_syntax_that_only_the_compiler_sees(jail: Jail, soup: str) -> None:
    found = failure(soup + "\n    return 1\n", jail)
    assert (found.stage, found.reason, found.line) == ("jail", "syntax", 20)


def test_a_mistake_in_the_task(jail: Jail, soup: str) -> None:
    found = failure(soup.replace('"carry_bowl"\n', '"carry"\n', 1), jail)
    assert (found.stage, found.reason) == ("jail", "exception")
    assert "realised_by is 'carry'" in found.message
    assert found.mend == "set the class attribute to one of: carry_bowl, reduce_speed"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{}", "not well formed"),
        ("{**honest, 'verdict': 'safe'}", "not well formed"),
        ("{**honest, 'max_danger': 'none'}", "not well formed"),
        ("{**honest, 'objects': honest['objects'] * 2}", "not well formed"),
        ("{**honest, 'provenance': {'backend': 'litellm'}}", "provenance"),
    ],
)
def test_a_forged_document_is_no_document(jail: Jail, soup: str, body: str, words: str) -> None:
    forging = f"""
    def document(self):
        honest = super().document().to_json()

        class Lie:
            def to_json(self):
                return {body}

        return Lie()
"""
    found = failure(soup + forging, jail)
    assert (found.stage, found.reason) == ("document", "forged_output")
    assert words in found.message


def test_a_forgery_describes_another_task_and_never_another_verdict(jail: Jail, soup: str) -> None:
    other = check(soup.replace("bowl", "cup"), jail)
    assert isinstance(other, Document)
    forged = f"""{soup}
    def document(self):
        class Other:
            def to_json(self):
                return {other.to_json()!r}

        return Other()
"""
    assert check(forged, jail) == other
