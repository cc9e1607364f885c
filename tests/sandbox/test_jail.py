from __future__ import annotations

import asyncio
import math
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hazardmill.errors import InputError, JailUnavailable, SandboxError
from hazardmill.formalism.document.document import Document
from hazardmill.sandbox import jail as jail_module
from hazardmill.sandbox.jail import Jail, JailFailure, JailResult, Limits
from hazardmill.sandbox.process import isolation
from hazardmill.sandbox.process.probe import ABILITIES
from hazardmill.sandbox.process.process import ChildExit
from hazardmill.sandbox.process.zygote import ForkedChild, Zygotes

from .conftest import children_of, jailed_by, zygote_of

HANG = "while True:\n    pass\n"


@pytest.fixture(scope="module")
def minimal() -> Iterator[Jail]:
    with Jail("minimal") as minimal:
        minimal.abilities()  # its zygote starts before any test looks at descriptors
        yield minimal


def failure(jail: Jail, code: str) -> JailFailure:
    answer = jail.run(code)
    assert isinstance(answer, JailFailure)
    return answer


# Limits


@pytest.mark.parametrize("name", ["wall_seconds", "cpu_seconds", "memory_bytes", "output_bytes", "concurrency"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_limit_that_no_draft_could_run_under_is_refused(name: str, value: float) -> None:
    with pytest.raises(
        InputError, match=rf"^{name}=\S+ is not a limit for a draft \[give a (whole )?number above zero\]$"
    ):
        Limits(**{name: value})  # type: ignore[arg-type]  # that is the mistake


def test_half_a_process_or_byte_is_no_limit_but_half_a_second_is() -> None:
    assert Limits(wall_seconds=0.5).wall_seconds == 0.5
    with pytest.raises(InputError, match="give a whole number above zero"):
        Limits(concurrency=1.5)  # type: ignore[arg-type]  # that is the mistake


# Profile and abilities


def test_full_jail_leaves_no_ability_and_names_its_layers(jail: Jail) -> None:
    assert jail.abilities() == dict.fromkeys(ABILITIES, False)
    kind, _, names = jail.profile.partition(":")
    assert kind == "fork"
    assert set(names.split("+")) == set(jail.layers)
    assert set(jail.layers) | set(jail.missing) == set(isolation.ORDER)


def test_the_probe_succeeds_where_nothing_forbids_it(minimal: Jail) -> None:
    found = minimal.abilities()
    assert minimal.profile == "minimal:rlimits"
    assert {"read": True, "write": True, "connect": True, "signal": True}.items() <= found.items()


def test_auto_is_full_and_refuses_what_full_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "ORDER", ("rlimits",))
    with pytest.raises(JailUnavailable, match=r"could still read, write, connect.*--jail minimal"):
        Jail()


def test_each_missing_ability_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "ORDER", ("rlimits", "landlock"))
    with pytest.raises(JailUnavailable) as caught:
        Jail("full")
    assert "read" not in caught.value.message
    assert "spawn" in caught.value.message or os.geteuid() != 0


def test_a_probe_that_cannot_run_closes_the_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(JailUnavailable, match="could not be tested"):
        Jail("full")


def test_a_layer_lost_after_the_start_stops_everything(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    leave_a_trace = f"open({str(trace)!r}, 'w').close()"
    with Jail("minimal") as jail:
        jail.run(leave_a_trace)
        assert trace.exists()
        trace.unlink()
        jail.layers = ("rlimits", "no such layer")
        with pytest.raises(SandboxError, match="no code was run"):
            jail.run(leave_a_trace)
    assert not trace.exists()


def test_a_jail_that_cannot_start_does_not_blame_the_code(soup: str) -> None:
    with (
        Jail("minimal", workload="hazardmill.no_such_module") as jail,
        pytest.raises(SandboxError, match="No module named 'hazardmill"),
    ):
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
    soup: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with Jail("minimal") as minimal:
        assert isinstance(minimal.run(soup), JailResult)


def test_what_it_prints_goes_nowhere(jail: Jail, soup: str) -> None:
    noisy = "import sys\nprint('x' * 3_000_000)\nprint('x' * 3_000_000, file=sys.stderr)\n" + soup
    assert jail.run(noisy) == jail.run(soup)


def test_the_closing_main_block_does_not_run(jail: Jail, soup: str) -> None:
    assert jail.run(soup + "\n\nif __name__ == '__main__':\n    ServeSoup.run_cli()\n") == jail.run(soup)


def test_names_and_escapes_beyond_ascii_compile(jail: Jail, soup: str) -> None:
    assert jail.run(soup + "\nünïcode = '\\N{DEGREE SIGN} é'\n") == jail.run(soup)


def test_environment_and_folder_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_PLANTED", "planted")
    with Jail("minimal") as minimal:
        found = failure(
            minimal,
            "import os\nraise ValueError(sorted(os.environ), os.listdir('.'), len(os.listdir('/proc/self/fd')))",
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
    assert "not a type" in found.message
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
    with Jail("minimal", Limits(cpu_seconds=1, wall_seconds=60)) as jail:
        found = failure(jail, HANG)
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


def test_at_most_concurrency_drafts_run_at_a_time_whoever_asks(soup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0
    run = ForkedChild.run

    def counted(child: ForkedChild) -> ChildExit:
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
    monkeypatch.setattr(ForkedChild, "run", counted)
    with Jail("minimal", Limits(concurrency=2)) as jail, ThreadPoolExecutor(5) as threads:
        asked = [threads.submit(asyncio.run, run_all(jail)) for _ in range(2)]
        asked += [threads.submit(jail.run, soup) for _ in range(3)]
        for one in asked:
            one.result()
    assert most == 2


def test_a_zygote_starts_when_all_others_are_busy_and_never_more_than_there_are_cores(
    soup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jail_module, "_cores", lambda: 2)

    async def busy(jail: Jail, zygotes: Zygotes) -> None:
        for _ in range(3):
            await jail.run_async(soup)
        (first,) = zygotes.pids
        lingering = [asyncio.create_task(jail.run_async(HANG))]
        while not children_of(first):
            await asyncio.sleep(0)
        lingering.append(asyncio.create_task(jail.run_async(HANG)))
        while not (len(zygotes.pids) == 2 and children_of(zygotes.pids[1])):
            await asyncio.sleep(0)
        lingering.append(asyncio.create_task(jail.run_async(HANG)))
        while sum(len(children_of(pid)) for pid in zygotes.pids) < 3:
            await asyncio.sleep(0)
        assert len(zygotes.pids) == 2
        waiting = asyncio.create_task(jail.run_async(soup))
        lingering.pop().cancel()
        assert isinstance(await waiting, JailResult)
        for one in lingering:
            one.cancel()
        await asyncio.gather(*lingering, return_exceptions=True)

    with Jail("full", Limits(wall_seconds=600, cpu_seconds=600, concurrency=3)) as jail:
        assert jail._zygotes is not None
        asyncio.run(busy(jail, jail._zygotes))


def test_who_is_cancelled_while_waiting_never_starts(tmp_path: Path) -> None:
    trace = tmp_path / "trace"

    async def give_up(jail: Jail) -> None:
        first = asyncio.create_task(jail.run_async(HANG))
        while not children_of(zygote_of(jail)):
            await asyncio.sleep(0)
        second = asyncio.create_task(jail.run_async(f"open({str(trace)!r}, 'w').close()"))
        await asyncio.sleep(0)
        second.cancel()
        first.cancel()
        assert [type(e) for e in await asyncio.gather(first, second, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 2
        assert isinstance(await jail.run_async("x = 1"), JailFailure)

    with Jail("minimal", Limits(wall_seconds=600, cpu_seconds=600, concurrency=1)) as jail:
        jail.run("x = 1")
        asyncio.run(give_up(jail))
    assert not trace.exists()


def test_the_kernel_would_end_a_draft_before_anything_else() -> None:
    def mark(pid: int) -> int:
        with Path(f"/proc/{pid}/oom_score_adj").open("rb", buffering=0) as file:
            return int(file.read(16))  # at once: it changes meanwhile

    async def look(jail: Jail) -> None:
        running = asyncio.create_task(jail.run_async(HANG))
        while not (children := children_of(zygote_of(jail))):
            await asyncio.sleep(0)
        while mark(children[0]) != 1000:  # the test's own timeout bounds it
            await asyncio.sleep(0)
        assert mark(zygote_of(jail)) == mark(os.getpid()) < 1000
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with Jail("full", Limits(wall_seconds=600, cpu_seconds=600)) as jail:
        asyncio.run(look(jail))


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
        assert select.select([watched], [], [])[0] == [watched]
    finally:
        os.close(watched)


# Where no zygote can be had


@pytest.fixture
def without_zygotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail_module, "_FORKS", False)


@pytest.mark.usefixtures("without_zygotes")
def test_a_fresh_process_gives_what_a_fork_gives(jail: Jail, soup: str) -> None:
    with Jail("auto") as fresh:
        assert fresh.profile == jail.profile.replace("fork:", "spawn:")
        assert fresh.abilities() == jail.abilities()
        codes = (soup, "x = 1\ny = unknown\n", "import wave", "x = (\n", "import os\nos._exit(3)\n")
        assert [fresh.run(code) for code in codes] == [jail.run(code) for code in codes]


@pytest.mark.usefixtures("without_zygotes")
def test_a_fresh_process_is_limited_and_cancelled_like_a_fork(jail: Jail) -> None:
    async def give_up(fresh: Jail) -> None:
        await asyncio.wait_for(asyncio.gather(*[fresh.run_async(HANG) for _ in range(3)]), 0.5)

    with Jail("minimal", Limits(wall_seconds=600, cpu_seconds=600, concurrency=1)) as fresh:
        with pytest.raises(TimeoutError):
            asyncio.run(give_up(fresh))
        fresh.limits = Limits(wall_seconds=0.2)
        assert failure(fresh, HANG).message == "it was still running after 0.2 s"
        fresh.limits = Limits(wall_seconds=60, cpu_seconds=1)
        assert failure(fresh, HANG).message == "it used more than 1 s of CPU time"
