from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hazardmill.errors import JailUnavailable, SandboxError
from hazardmill.formalism.document import Document
from hazardmill.sandbox import layers
from hazardmill.sandbox.jail import Jail, JailFailure, JailResult, Limits
from hazardmill.sandbox.probe import ABILITIES
from hazardmill.sandbox.process import Child, Ended

from .conftest import jailed_by

HANG = "while True:\n    pass\n"


@pytest.fixture(scope="module")
def minimal() -> Jail:
    return Jail("minimal")


def failure(jail: Jail, code: str) -> JailFailure:
    answer = jail.run(code)
    assert isinstance(answer, JailFailure)
    return answer


# Profile and abilities


def test_full_jail_leaves_no_ability_and_names_its_layers(jail: Jail) -> None:
    assert jail.abilities() == dict.fromkeys(ABILITIES, False)
    kind, _, names = jail.profile.partition(":")
    assert kind == "spawn"
    assert set(names.split("+")) == set(jail.layers)
    assert set(jail.layers) | set(jail.missing) == set(layers.ORDER)


def test_the_probe_succeeds_where_nothing_forbids_it(minimal: Jail) -> None:
    found = minimal.abilities()
    assert minimal.profile == "minimal:rlimits"
    assert {"read": True, "write": True, "connect": True, "signal": True}.items() <= found.items()


def test_auto_is_full_and_refuses_what_full_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "ORDER", ("rlimits",))
    with pytest.raises(JailUnavailable, match=r"could still read, write, connect.*minimal jail"):
        Jail()


def test_each_missing_ability_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "ORDER", ("rlimits", "landlock"))
    with pytest.raises(JailUnavailable) as caught:
        Jail("full")
    assert "read" not in caught.value.message
    assert "spawn" in caught.value.message or os.geteuid() != 0


def test_a_probe_that_cannot_run_closes_the_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(JailUnavailable, match="could not be tried"):
        Jail("full")


def test_a_layer_lost_after_the_start_stops_everything(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    leave_a_trace = f"open({str(trace)!r}, 'w').close()"
    jail = Jail("minimal")
    jail.run(leave_a_trace)
    assert trace.exists()
    trace.unlink()
    jail.layers = ("rlimits", "no such layer")
    with pytest.raises(SandboxError, match="no code was run"):
        jail.run(leave_a_trace)
    assert not trace.exists()


def test_a_jail_that_cannot_start_does_not_blame_the_code(soup: str) -> None:
    jail = Jail("minimal", authoring="hazardmill.no_such_module")
    with pytest.raises(SandboxError, match="before its walls stood"):
        jail.run(soup)


# Honest code


def test_gives_the_document_and_the_same_one_again(jail: Jail, minimal: Jail, soup: str) -> None:
    answers = [jail.run(soup), jail.run(soup), minimal.run(soup)]
    assert all(isinstance(answer, JailResult) for answer in answers)
    assert answers[0] == answers[1] == answers[2]
    assert Document.from_json(answers[0].value).name == "ServeSoup"


def test_the_order_of_a_set_is_the_same_every_time(jail: Jail) -> None:
    code = "raise ValueError(list({f'object_{i}' for i in range(20)}))"
    assert jail.run(code) == jail.run(code)


def test_variables_and_modules_of_the_user_do_not_reach_the_interpreter(
    minimal: Jail, soup: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert isinstance(minimal.run(soup), JailResult)


def test_what_it_prints_goes_nowhere(jail: Jail, soup: str) -> None:
    noisy = "import sys\nprint('x' * 3_000_000)\nprint('x' * 3_000_000, file=sys.stderr)\n" + soup
    assert jail.run(noisy) == jail.run(soup)


def test_the_closing_main_block_does_not_run(jail: Jail, soup: str) -> None:
    assert jail.run(soup + "\n\nif __name__ == '__main__':\n    ServeSoup.run_cli()\n") == jail.run(soup)


def test_names_and_escapes_beyond_ascii_compile(jail: Jail, soup: str) -> None:
    assert jail.run(soup + "\nünïcode = '\\N{DEGREE SIGN} é'\n") == jail.run(soup)


def test_environment_and_folder_are_empty(minimal: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_PLANTED", "planted")
    found = failure(
        minimal, "import os\nraise ValueError(sorted(os.environ), os.listdir('.'), len(os.listdir('/proc/self/fd')))"
    )
    # Three standard descriptors, the output, and the one listing them.
    assert found.message == "ValueError: ([], [], 5)"


def test_what_a_draft_may_import_does_not_depend_on_the_profile(jail: Jail, minimal: Jail) -> None:
    assert failure(jail, "import wave").message == "ModuleNotFoundError: No module named 'wave'"
    assert jail.run("import wave") == minimal.run("import wave")


def test_its_memory_is_closed_to_other_processes(minimal: Jail) -> None:
    get_dumpable = 3
    found = failure(minimal, f"import ctypes\nraise ValueError(ctypes.CDLL(None).prctl({get_dumpable}, 0, 0, 0, 0))")
    assert found.message == "ValueError: 0"


# Mistakes


def test_an_authoring_error_names_line_and_mend(jail: Jail, soup: str) -> None:
    found = failure(
        jail, soup.replace('self.objects(place, "kitchen", "table")', 'self.objects("place", "kitchen", "b")')
    )
    assert (found.reason, found.line) == ("exception", 9)
    assert "no type" in found.message
    assert found.mend


def test_a_mistake_without_a_line_has_none(jail: Jail, soup: str) -> None:
    found = failure(jail, soup.replace("self.goal(bowl_at(table))", "pass"))
    assert (found.reason, found.message, found.line) == ("exception", "the task has no goal", None)


@pytest.mark.parametrize(
    ("code", "reason", "line", "words"),
    [
        ("x = 1\ny = unknown\n", "exception", 2, "NameError: name 'unknown'"),
        ("def f():\n    return 1 / 0\n\nf()\n", "exception", 2, "ZeroDivisionError"),
        ("def f():\n    f()\n\nf()\n", "exception", 2, "RecursionError"),
        ("x = (\n", "syntax", 1, "never closed"),
        ("x = 1\nreturn x\n", "syntax", 2, "outside function"),
        ("x = '\ud800'\n", "syntax", 1, "not Unicode"),
        ("raise KeyboardInterrupt\n", "exception", 1, "KeyboardInterrupt"),
        ("x = 1\n", "not_a_task", None, "it defines: none"),
        ("raise ValueError('\\x1b[2J\\u202e' + 'x' * 9_000)\n", "exception", 1, "ValueError: \ufffd[2J\ufffdxxx"),
    ],
)
def test_says_what_and_where(jail: Jail, code: str, reason: str, line: int | None, words: str) -> None:
    found = failure(jail, code)
    assert (found.reason, found.line) == (reason, line)
    assert words in found.message
    assert len(found.message) < 2_100


def test_two_tasks_are_not_one(jail: Jail, soup: str) -> None:
    found = failure(jail, soup + "\n\nclass Second(ServeSoup):\n    pass\n")
    assert found.reason == "not_a_task"
    assert found.message.endswith("it defines: Second, ServeSoup")


def test_cpu_time_is_limited_too(soup: str) -> None:
    found = failure(Jail("minimal", Limits(cpu_seconds=1, wall_seconds=60)), HANG)
    assert (found.reason, found.message) == ("timeout", "it used more than 1 s of CPU time")


# Forgeries: whatever comes out is a report or nothing, and a report is only data


@pytest.mark.parametrize(
    "written",
    [
        b"{}\n",
        b"not json\n",
        b'{"document": {}}\n{"document": {}}\n',
        b'{"document": {}, "layers": []}\n',
        b'{"document": {}}',
        b'{"document": [1]}\n',
        b'{"reason": "accepted", "message": "", "line": null, "remedy": null}\n',
        b'{"reason": "memory", "message": "", "line": true, "remedy": null}\n',
        b'{"reason": "memory", "message": 7, "line": null, "remedy": null}\n',
        b'{"abilities": {"read": false}}\n',
    ],
)
def test_a_forged_report_is_refused(jail: Jail, written: bytes) -> None:
    found = failure(jail, f"import os\nos.write(3, {written!r})\nos._exit(0)\n")
    assert found.reason == "forged_output"


def test_a_forgery_before_the_honest_report_is_refused(jail: Jail, soup: str) -> None:
    found = failure(jail, "import os\nos.write(3, b'{\"document\": {}}\\n')\n" + soup)
    assert found.reason == "forged_output"


def test_a_forged_failure_cannot_stop_the_jail(jail: Jail, soup: str) -> None:
    forged = b'{"layers": [], "missing": {"seccomp": "gone"}}\n'
    assert failure(jail, f"import os\nos.write(3, {forged!r})\nos._exit(0)\n").reason == "forged_output"
    assert isinstance(jail.run(soup), JailResult)


def test_replaced_modules_die_with_the_draft(jail: Jail, soup: str) -> None:
    trick = """\
import sys, json, types
class Lie:
    def to_json(self): return {"name": "lie"}
class PlanningTask:
    def document(self): return Lie()
authoring = sys.modules["hazardmill.formalism.authoring"]
authoring.PlanningTask.document = PlanningTask.document
sys.modules["hazardmill.formalism.authoring"] = types.SimpleNamespace(PlanningTask=PlanningTask)
json.dumps = lambda *a, **k: '{"document":{"name":"lie"}}'
class Task(authoring.PlanningTask): pass
"""
    assert jail.run(trick) == JailResult({"name": "lie"})
    honest = jail.run(soup)
    assert isinstance(honest, JailResult)
    assert honest.value["name"] == "ServeSoup"


# Many at a time, and ends


def test_async_runs_answer_each_its_own(soup: str) -> None:
    async def run_all(jail: Jail) -> list[JailResult | JailFailure]:
        codes = [soup.replace("ServeSoup", f"Serve{i}") if i % 2 else f"raise ValueError({i})" for i in range(6)]
        return await asyncio.gather(*map(jail.run_async, codes))

    with Jail("minimal", Limits(concurrency=2)) as jail:
        answers = asyncio.run(run_all(jail))
    told = [a.value["name"] if isinstance(a, JailResult) else a.message for a in answers]
    assert told == ["ValueError: 0", "Serve1", "ValueError: 2", "Serve3", "ValueError: 4", "Serve5"]


def test_at_most_concurrency_drafts_run_at_a_time(soup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0
    run = Child.run

    def counted(child: Child) -> Ended:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return run(child)
        finally:
            with lock:
                running -= 1

    async def run_all(jail: Jail) -> None:
        await asyncio.gather(*[jail.run_async(soup) for _ in range(6)])

    lock = threading.Lock()
    monkeypatch.setattr(Child, "run", counted)
    with Jail("minimal", Limits(concurrency=2)) as jail:
        asyncio.run(run_all(jail))
    assert most == 2


def test_cancelling_kills_the_draft_and_those_that_wait() -> None:
    async def give_up(jail: Jail) -> None:
        await asyncio.wait_for(asyncio.gather(*[jail.run_async(HANG) for _ in range(3)]), 0.5)

    with Jail("minimal", Limits(wall_seconds=600, cpu_seconds=600, concurrency=1)) as jail, pytest.raises(TimeoutError):
        asyncio.run(give_up(jail))


def test_a_draft_dies_with_the_process_that_jailed_it_and_leaves_no_folder(project: Path, tmp_path: Path) -> None:
    running = tmp_path / "running"
    draft = f"open({str(running)!r}, 'w').close()\n" + HANG
    code = (
        "from hazardmill.sandbox.jail import Jail, Limits\n"
        f"Jail('minimal', Limits(wall_seconds=600, cpu_seconds=600)).run({draft!r})\n"
    )
    launcher = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(project)})
    try:
        while not running.exists():  # the test's own timeout bounds it
            pass
        (jailed,) = jailed_by(launcher.pid)
        watched = os.pidfd_open(jailed)
    finally:
        launcher.kill()
        launcher.wait()
    try:
        assert select.select([watched], [], [], 30)[0] == [watched]
    finally:
        os.close(watched)
