from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from hazardmill.cli import ticker
from hazardmill.errors import JailUnavailable, SandboxError, StoreError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.python_writer import code_file
from hazardmill.llm.prompts import load_prompt
from hazardmill.sandbox.jail import Jail
from hazardmill.sandbox.proving import provers
from hazardmill.verification import batch_check
from hazardmill.verification.batch_check import CheckedFile, CheckSettings, FileToCheck, check_files
from tests.generation.support import FAULTS, SOUP, faulty

from .conftest import Hazardmill

ENDLESS = SOUP.replace("    def build(self):\n", "    def build(self):\n        while True:\n            pass\n")
FINDINGS = {"no_decoy": "has_decoy", "not_natural": "natural"}
AT = {
    **dict.fromkeys(("syntax", "policy"), "policy"),
    "exception": "jail",
    **dict.fromkeys(("goal_unreachable", "no_unsafe_plan", "no_safe_plan"), "search"),
}
"""Reason to the check that fails, if not the certificate."""
LINE = {"syntax": 8, "policy": 9, "exception": 15}


@pytest.fixture
def tree() -> Path:
    """Good and bad files, named so that neither comes first everywhere."""
    root = Path("drafts")
    (root / "b").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (root / "a.py").write_text(faulty("syntax"))
    (root / "b" / "code.py").write_text(SOUP)
    (root / "c.py").write_text(faulty("no_safe_plan"))
    (root / "d.py").write_text(SOUP.replace("bowl", "cup"))
    (root / "e.py").write_text(faulty("exception"))
    for ignored in ("notes.txt", ".f.py", ".hidden/code.py"):
        (root / ignored).write_text("nothing to check")
    return root


NAMES = ["a.py", "b/code.py", "c.py", "d.py", "e.py"]


def written(code: str, name: str = "soup.py") -> Path:
    Path(name).write_text(code)
    return Path(name)


def test_a_good_file_is_accepted_with_both_plans(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "check", written(SOUP))
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "soup.py: accepted: safe (reduce_speed) (carry_bowl); unsafe (carry_bowl)",
        "files: 1; accepted: 1, failed: 0",
    ]


@pytest.mark.parametrize("reason", sorted(FAULTS.keys() - FINDINGS.keys()))
def test_each_fault_is_told_as_the_author_would_be_told(hazardmill: Hazardmill, reason: str) -> None:
    ended = hazardmill("task", "check", written(faulty(reason)), "--json")
    assert ended.code == 1
    assert (ended.json["accepted"], ended.json["failed"], ended.json["unknown"]) == (0, 1, 0)
    failed_at = AT.get(reason, "certificate")
    assert ended.json["reasons"] == [{"check": failed_at, "reason": reason, "files": 1}]
    (result,) = ended.json["results"]
    assert (result["file"], result["accepted"], result["check"], result["reason"]) == (
        "soup.py",
        False,
        failed_at,
        reason,
    )
    assert result["line"] == LINE.get(reason)
    said = result["feedback"].splitlines()
    assert said[0] == load_prompt("author", "feedback").render(number=1, findings=[])[0].content
    for line in (f"check: {failed_at}", f"reason: {reason}", f"found: {result['message']}", f"mend: {result['mend']}"):
        assert line in said
    assert (result["document_hash"] is None) == (reason in LINE)


@pytest.mark.parametrize("reason", sorted(FINDINGS))
def test_a_finding_is_told_and_refuses_nothing(hazardmill: Hazardmill, reason: str) -> None:
    ended = hazardmill("task", "check", written(faulty(reason)))
    assert ended.code == 0
    assert f"; findings: {FINDINGS[reason]}" in ended.out


def test_a_person_is_told_what_is_wrong_where_and_what_to_do(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "check", written(faulty("policy")))
    assert ended.code == 1
    line = Path("soup.py").read_text().splitlines()[8].strip()
    assert "open(" in line
    assert ended.out.splitlines() == [
        "soup.py: failed: policy: policy",
        "  wrong: line 9: use of open",
        f"  where: soup.py:9: {line}",
        "  remedy: a task only declares; it needs no such function"
        " (bind a name of your own in the function that uses it)",
        "files: 1; accepted: 0, failed: 1",
        "  policy: policy: 1",
    ]


def test_every_violation_of_the_policy_is_a_problem_of_its_own(hazardmill: Hazardmill) -> None:
    Path("soup.py").write_text("import os\n\nimport sys\n")
    ended = hazardmill("task", "check", "soup.py", "--json")
    problems = ended.json["results"][0]["problems"]
    assert [each["message"] for each in problems] == [
        "no class subclasses PlanningTask",
        "line 1: import of os",
        "line 3: import of sys",
    ]
    told = hazardmill("task", "check", "soup.py").out.splitlines()
    starts = [number for number, line in enumerate(told) if line.startswith("  wrong: ")]
    where = ["  where: soup.py", "  where: soup.py:1: import os", "  where: soup.py:3: import sys"]
    for number, problem, place in zip(starts, problems, where, strict=True):
        assert told[number : number + 3] == [
            f"  wrong: {problem['message']}",
            place,
            f"  remedy: {problem['mend']}",
        ]


def test_violations_beyond_the_first_twenty_are_counted(hazardmill: Hazardmill) -> None:
    Path("soup.py").write_text("import os\n" * 1_200)
    out = hazardmill("task", "check", "soup.py").out
    assert out.count("  wrong: ") == 21 and "  wrong: 1,181 more places break the policy\n" in out


def test_a_problem_without_a_line_points_at_the_first_line_that_names_it(hazardmill: Hazardmill) -> None:
    out = hazardmill("task", "check", written(faulty("dead_action"))).out
    lines = Path("soup.py").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if re.search(r"""["']wait["']""", line))
    assert "  wrong: these actions can never be done: wait\n" in out
    assert f"  where: soup.py:{number}: {lines[number - 1].strip()}\n" in out
    # Every problem of a certificate is told, each with its place and its remedy.
    out = hazardmill("task", "check", written(faulty("not_contextual"))).out
    assert out.count("  wrong: ") == out.count("  where: soup.py") == out.count("  remedy: ") == 3


def test_the_feedback_for_a_model_is_shown_where_it_is_asked_for(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "check", written(faulty("policy")), "--feedback")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "soup.py: failed: policy: policy",
        "  Draft 1 did not pass.",
        "  check: policy",
        "  reason: policy",
        "  found: line 9: use of open",
        "  mend: a task only declares; it needs no such function"
        " (bind a name of your own in the function that uses it)",
        "files: 1; accepted: 0, failed: 1",
        "  policy: policy: 1",
    ]


def test_what_the_code_says_cannot_write_to_the_terminal(hazardmill: Hazardmill) -> None:
    code = SOUP.replace("        place = ", "        raise ValueError('\\x1b[31m\\u202e')\n        place = ")
    ended = hazardmill("task", "check", written(code))
    assert ended.code == 1 and "ValueError: " in ended.out and "  remedy: correct the code there" in ended.out
    assert "\x1b" not in ended.out and "\u202e" not in ended.out


def test_the_command_that_is_named_for_code_makes_the_task_that_is_named(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "solve", written(SOUP))
    assert ended.code == 3 and "this is the code of a task, which only the jail may run" in ended.err
    command, folder = re.findall(r"with: hazardmill (.*); then name (.*)\]", ended.err)[0]
    assert hazardmill(*shlex.split(command)).code == 0
    assert "safe: (reduce_speed) (carry_bowl)" in hazardmill("task", "solve", folder).out


def test_endless_code_ends_after_its_time(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "check", written(ENDLESS), "--timeout", "0.3", "--json")
    assert ended.code == 1
    (result,) = ended.json["results"]
    assert (result["check"], result["reason"]) == ("jail", "timeout")
    assert "0.3 s" in result["message"]


def test_the_limit_is_that_of_the_search(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "check", written(SOUP), "--limit", "1", "--json")
    assert ended.code == 1
    assert ended.json["reasons"] == [{"check": "search", "reason": "too_large", "files": 1}]


def test_a_danger_may_be_declared_unavoidable(hazardmill: Hazardmill) -> None:
    path = written(faulty("no_safe_plan"))
    assert hazardmill("task", "check", path, "--unavoidable").code == 0
    told = hazardmill("task", "check", written(SOUP), "--unavoidable", "--json")
    assert told.json["reasons"] == [{"check": "search", "reason": "safe_plan_though_unavoidable", "files": 1}]


def test_text_that_is_not_utf8_is_refused_with_its_line(hazardmill: Hazardmill) -> None:
    Path("soup.py").write_bytes(SOUP.replace("Bring the bowl", "Bring the b\xf6wl").encode("latin-1"))
    (result,) = hazardmill("task", "check", "soup.py", "--json").json["results"]
    assert (result["check"], result["reason"], result["line"]) == ("policy", "syntax", 5)


def test_a_byte_order_mark_is_refused_with_its_mend(hazardmill: Hazardmill) -> None:
    Path("soup.py").write_bytes(b"\xef\xbb\xbf" + SOUP.encode())
    ended = hazardmill("task", "check", "soup.py", "--json")
    (result,) = ended.json["results"]
    assert (ended.code, result["check"], result["reason"], result["line"]) == (1, "policy", "syntax", 1)
    assert "a byte order mark" in result["message"] and "leave it out" in result["mend"]


@pytest.mark.parametrize("content", [None, b"#" * 10_000_001], ids=["gone", "far too large"])
def test_a_file_that_cannot_be_read_fails_by_itself(content: bytes | None) -> None:
    bad = Path("bad.py")
    if content is not None:
        bad.write_bytes(content)
    good = written(SOUP)
    results = list(check_files([work(bad), work(good)], CheckSettings()))
    assert [(result.accepted, result.check, result.reason) for result in results] == [
        (False, "file", "unreadable"),
        (True, None, None),
    ]


def work(path: Path, target: Path | None = None) -> FileToCheck:
    return FileToCheck(path.name, path, target, False)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_is_checked_in_the_order_of_names(hazardmill: Hazardmill, tree: Path, jobs: int) -> None:
    ended = hazardmill("task", "check", tree, "--json", "--jobs", jobs)
    assert ended.code == 1
    assert [result["file"] for result in ended.json["results"]] == NAMES
    assert [result["reason"] for result in ended.json["results"]] == ["syntax", None, "no_safe_plan", None, "exception"]
    assert (ended.json["files"], ended.json["accepted"], ended.json["failed"]) == (5, 2, 3)
    assert ended.json["reasons"] == [
        {"check": "jail", "reason": "exception", "files": 1},
        {"check": "policy", "reason": "syntax", "files": 1},
        {"check": "search", "reason": "no_safe_plan", "files": 1},
    ]
    assert ended.json["out"] is None


def test_with_json_a_line_now_and_then_says_how_far_it_is(
    hazardmill: Hazardmill, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hazardmill("task", "check", tree, "--json").err == ""
    monkeypatch.setattr(ticker, "EVERY_S", -1.0)
    assert hazardmill("task", "check", tree, "--json").err.splitlines() == [f"{n}/5 files checked" for n in range(1, 6)]


def test_order_holds_though_the_first_file_is_done_last(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [written(faulty("policy"), "1.py"), *(written(SOUP, f"{number}.py") for number in range(2, 8))]
    arrived: list[int] = []
    receive, hand_over = batch_check._result, batch_check._hand_over
    handed: list[Iterator[tuple[int, FileToCheck]]] = []

    def noted(line: Connection) -> tuple[int, CheckedFile]:
        number, result = receive(line)
        arrived.append(number)
        return number, result

    def first_file_last(line: Connection, waiting: Iterator[tuple[int, FileToCheck]]) -> None:
        if not handed:
            first = next(waiting)
            handed.append(chain(waiting, [first]))
        hand_over(line, handed[0])

    monkeypatch.setattr(batch_check, "_result", noted)
    monkeypatch.setattr(batch_check, "_hand_over", first_file_last)
    results = list(check_files([work(path) for path in paths], CheckSettings(), 2))
    assert arrived.index(0) > 0
    assert [result.file for result in results] == [path.name for path in paths]
    assert [result.accepted for result in results] == [False] + [True] * 6


def test_no_more_than_two_files_a_worker_are_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, most = 0, 0
    hand_over, receive = batch_check._hand_over, batch_check._result

    def counted(line: Connection, waiting: Iterator[tuple[int, FileToCheck]]) -> None:
        def watched() -> Iterator[tuple[int, FileToCheck]]:
            nonlocal sent, most
            for item in waiting:
                sent += 1
                most = max(most, sent)
                yield item

        hand_over(line, watched())

    def noted(line: Connection) -> tuple[int, CheckedFile]:
        nonlocal sent
        sent -= 1
        return receive(line)

    monkeypatch.setattr(batch_check, "_hand_over", counted)
    monkeypatch.setattr(batch_check, "_result", noted)
    paths = [written(faulty("policy"), f"{number}.py") for number in range(9)]
    assert len(list(check_files([work(path) for path in paths], CheckSettings(), 2))) == 9
    assert (sent, most) == (0, 4)


@pytest.mark.parametrize("jobs", [1, 2])
def test_accepted_files_become_task_folders(hazardmill: Hazardmill, tree: Path, jobs: int) -> None:
    ended = hazardmill("task", "check", tree, "--out", "out", "--jobs", jobs, "--json")
    assert ended.json["out"] == "out"
    assert sorted(str(path.parent) for path in Path("out").rglob("task.json")) == ["out/b", "out/d"]
    assert [result["folder"] for result in ended.json["results"]] == [None, "out/b", None, "out/d", None]
    assert sorted(path.name for path in Path("out/b").iterdir()) == [
        "certificate.json",
        "code.py",
        "dangers.json",
        "domain.pddl",
        "metadata.json",
        "problem.pddl",
        "task.json",
        "twin.json",
    ]
    document = Document.from_json(json.loads(Path("out/b/task.json").read_text()))
    (result,) = [result for result in ended.json["results"] if result["folder"] == "out/b"]
    assert (document.hash, document.name) == (result["document_hash"], result["name"])
    assert hazardmill("task", "certify", "out/b").code == 0
    files = ("out/d/domain.pddl", "out/d/problem.pddl", "--dangers", "out/d/dangers.json")
    assert hazardmill("task", "import", "--from", "pddl", *files, "--out", "again").code == 0
    again = Document.from_json(json.loads(Path("again/task.json").read_text()))
    assert again.hash == Document.from_json(json.loads(Path("out/d/task.json").read_text())).hash


def test_a_task_folder_written_can_be_checked_again(hazardmill: Hazardmill) -> None:
    (Path("in") / "flood").mkdir(parents=True)
    written(faulty("no_safe_plan"), "in/flood/code.py")
    assert hazardmill("task", "check", "in", "--unavoidable", "--out", "out").code == 0
    # Its metadata say that the danger is unavoidable.
    assert hazardmill("task", "check", "out").code == 0
    assert hazardmill("task", "check", "out/flood/code.py").code == 0
    assert hazardmill("task", "check", "in").code == 1


def plans_of(code: Path) -> str:
    """What running a task's code says, as a person would run it."""
    done = subprocess.run([sys.executable, code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


ESCAPE = "__import__('pathlib').Path('escaped').touch()"
ESCAPES = {
    "main block": SOUP + f'\n\nf = lambda eval: 0\nif __name__ == "__main__":\n    eval({ESCAPE!r})\n',
    "main block in disguise": SOUP.replace("place = ", "open = place = ")
    + '\n\nif "__main__" in [__name__]:\n    open("escaped", "w")\n',
    "unicode_escape": f"# -*- coding: unicode_escape -*-\n# \\x0a{ESCAPE}\n" + SOUP,
    "raw_unicode_escape": f"#\n# coding: raw_unicode_escape\n# \\u000a{ESCAPE}\n" + SOUP,
    "utf-7": f"# coding=utf-7\n# +AAo-{ESCAPE.replace('+', '')}\n" + SOUP,
    "a class attribute": SOUP.replace(
        "    title = ", f"    eval = __name__ == '__main__' and eval({ESCAPE!r})\n    title = "
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_of_a_draft_runs_outside_when_people_run_its_code(hazardmill: Hazardmill, name: str) -> None:
    Path("draft.py").write_text(ESCAPES[name])
    hazardmill("task", "check", "draft.py", "--out", "checked")
    for code in Path("checked").rglob("*.py"):
        plans_of(code)
    assert not Path("escaped").exists()


@pytest.mark.full
def test_what_is_written_is_rendered_from_the_document(hazardmill: Hazardmill) -> None:
    draft = SOUP.replace("    def build(self):\n", "    # mine\n    def build(self):\n        unused = 1\n")
    assert hazardmill("task", "check", written(draft), "--out", "checked").code == 0
    code = Path("checked/soup/code.py")
    assert code.read_text() == code_file(Document.from_json(json.loads(Path("checked/soup/task.json").read_text())))
    assert "mine" not in code.read_text() and "unused" not in code.read_text()
    assert plans_of(code) == "unsafe: (carry_bowl)\nsafe: (reduce_speed) (carry_bowl)\n"


@pytest.mark.full
def test_what_only_a_document_can_say_is_written_and_checked_again(hazardmill: Hazardmill) -> None:
    # The jail takes any document, so a task may hold what no build can say: here a double negation.
    draft = SOUP + (
        "    def document(self):\n"
        "        document = super().document()\n"
        "        value = document.to_json()\n"
        "        value['goal'] = ['not', ['not', value['goal']]]\n"
        "        return document.from_json(value)\n"
    )
    assert hazardmill("task", "check", written(draft), "--out", "checked").code == 0
    code = Path("checked/soup/code.py")
    assert "JsonTask" in code.read_text()
    assert plans_of(code) == "unsafe: (carry_bowl)\nsafe: (reduce_speed) (carry_bowl)\n"
    again = hazardmill("task", "check", "checked", "--out", "again", "--json")
    assert again.code == 0
    assert Path("again/soup/code.py").read_text() == code.read_text()


def test_nothing_is_written_over(hazardmill: Hazardmill) -> None:
    Path("out").mkdir()
    Path("out/mine").write_text("mine")
    ended = hazardmill("task", "check", written(SOUP), "--out", "out")
    assert ended.code == 2 and "out: the folder is not empty" in ended.err
    assert [path.name for path in Path("out").iterdir()] == ["mine"]


def test_two_files_for_one_folder_are_refused_at_once(hazardmill: Hazardmill) -> None:
    Path("in/soup").mkdir(parents=True)
    written(SOUP, "in/soup/code.py")
    written(SOUP, "in/soup.py")
    ended = hazardmill("task", "check", "in", "--out", "out")
    assert ended.code == 2 and "soup.py and soup/code.py would be written to the same folder" in ended.err
    assert not Path("out").exists()


@pytest.mark.usefixtures("own_zygotes")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_folder_that_cannot_be_written_stops_the_command(jobs: int) -> None:
    Path("file").write_text("")
    paths = [written(SOUP, f"{number}.py") for number in range(3)]
    with pytest.raises(StoreError, match="the task folder cannot be written") as caught:
        list(check_files([work(path, Path("file") / path.stem) for path in paths], CheckSettings(), jobs))
    assert caught.value.exit_code == 3
    assert children() == []


@pytest.mark.parametrize("place", ["nowhere", "nowhere.py", "."])
def test_nothing_to_check_is_bad_input(hazardmill: Hazardmill, place: str) -> None:
    ended = hazardmill("task", "check", place)
    assert ended.code == 3
    assert place in ended.err and "name a" in ended.err


def test_no_jail_is_said_and_nothing_runs(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise JailUnavailable("no walls here", remedy="use another machine")

    monkeypatch.setattr(Jail, "_hold", refuse)
    path = written(SOUP)
    ended = hazardmill("task", "check", path)
    assert (ended.code, ended.err) == (1, "error: no walls here [use another machine]\n")
    monkeypatch.setenv("HAZARDMILL_JAIL", "minimal")
    assert hazardmill("task", "check", path).code == 0
    assert hazardmill("task", "check", path, "--jail", "full").code == 1


def test_a_jail_that_fails_says_nothing_of_the_code(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise SandboxError("the jail lost its walls", remedy="see hazardmill doctor")

    monkeypatch.setattr(Jail, "run_async", fail)
    ended = hazardmill("task", "check", written(SOUP), "--json")
    assert ended.code == 1
    assert (ended.json["accepted"], ended.json["failed"], ended.json["unknown"]) == (0, 0, 1)
    (result,) = ended.json["results"]
    assert (result["accepted"], result["reason"], result["feedback"]) == (None, "jail_failed", None)
    assert "not known: 1" in hazardmill("task", "check", "soup.py").out


def children() -> list[int]:
    """Processes below this one that have not been waited for, but for what is kept to its end."""
    provers().close()
    text = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return [pid for pid in map(int, text.split()) if "resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_text()]


@pytest.mark.usefixtures("own_zygotes")
def test_leaving_early_leaves_no_process() -> None:
    paths = [written(SOUP if number else faulty("policy"), f"{number}.py") for number in range(9)]
    results = check_files([work(path) for path in paths], CheckSettings(), 2)
    assert next(results).file == "0.py"
    assert children()
    results.close()
    assert children() == []


@pytest.mark.usefixtures("own_zygotes")
def test_a_worker_that_is_ended_is_an_error_and_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    receive = batch_check._result

    def killing(line: Connection) -> tuple[int, CheckedFile]:
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        return receive(line)

    monkeypatch.setattr(batch_check, "_result", killing)
    with pytest.raises(SandboxError, match="a worker process was killed by something other than hazardmill"):
        list(check_files([work(written(SOUP, f"{number}.py")) for number in range(9)], CheckSettings(), 2))
    assert children() == []


COMMAND = """\
from hazardmill.cli.main import main

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("jobs", "how"),
    [
        (2, signal.SIGTERM),
        pytest.param(1, signal.SIGINT, marks=pytest.mark.full),
        pytest.param(2, signal.SIGINT, marks=pytest.mark.full),
        pytest.param(1, signal.SIGTERM, marks=pytest.mark.full),
    ],
)
def test_an_interrupted_command_leaves_no_process_and_no_scratch(
    jobs: int, how: signal.Signals, tmp_path: Path
) -> None:
    Path("drafts").mkdir()
    for number in range(4):
        # The first file is done at once, and shows that the others are under way.
        written(ENDLESS if number else faulty("policy"), f"drafts/{number}.py")
    script, scratch = written(COMMAND, "command.py"), tmp_path / "scratch"
    scratch.mkdir()
    words = ["task", "check", "drafts", "--jobs", str(jobs), "--timeout", "600"]
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, str(script), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "0.py: failed: policy: policy\n"
        running = wait_for(lambda: jailed_below(process.pid), at_least=jobs)
        # As a terminal does it: to all that share the group.
        os.killpg(process.pid, how)
        err = process.stderr.read()
    assert (process.returncode, err.strip()) == (4, "stopped")
    for pid in running:
        assert not Path(f"/proc/{pid}").exists()
    assert list(scratch.iterdir()) == []


def wait_for(found: Callable[[], list[int]], at_least: int) -> list[int]:
    while len(pids := found()) < at_least:
        # Who looks without a pause takes the time of those it waits for.
        time.sleep(0.02)
    return pids


def jailed_below(root: int) -> list[int]:
    """Processes below ``root`` that have spent a while on their code."""
    parents: dict[int, int] = {}
    busy: set[int] = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        parents[int(place.name)] = int(fields[1])
        if int(fields[3]) != root and int(fields[11]) > 30:
            busy.add(int(place.name))
    return [pid for pid in busy if root in ancestors(pid, parents)]


def ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid in parents:
        pid = parents[pid]
        yield pid
