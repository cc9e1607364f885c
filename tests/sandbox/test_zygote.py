"""Attacks on the zygote and on siblings: each works from a fork without walls, and fails behind them.

Also what the zygote owes to those that wait for it: nothing outlives its order, and no trouble of one is another's.
"""

from __future__ import annotations

import os
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import JailUnavailable, SandboxError
from hazardmill.sandbox import jail as jail_module
from hazardmill.sandbox.jail import PLANNERS, Jail, JailFailure, JailResult, Limits
from hazardmill.sandbox.process import process, zygote
from tests.formalism.despite_folders import KETTLE
from tests.patience import PATIENCE_S

from .attacks import Attack
from .conftest import children_of, zygote_of

LINGER = "import time\ntime.sleep(600)\n"
PATIENT = Limits(wall_seconds=600, cpu_seconds=600)
WORKLOAD = """\
import ctypes, errno, json, os, random, socket, time

def prepare():
    pass

def run(code):
    try:
        exec(code, {})
    except BaseException as error:
        message = f"{type(error).__name__}: {error}"
        return json.dumps({"reason": "exception", "message": message, "line": None, "remedy": None}).encode() + b"\\n"
    return b'{"document": {}}\\n'
"""
WITHOUT_WALLS = """
def prepare():
    from hazardmill.sandbox.process import isolation as layers
    layers.close_descriptors = lambda keep: keep
    layers.apply = lambda wanted, resources, parent: (tuple(wanted), {})
"""
ATTACKS = (
    Attack(
        "keep a descriptor",
        """\
import errno, os
def is_open(number):
    try:
        os.lseek(number, 0, os.SEEK_CUR)
    except OSError as error:
        return error.errno != errno.EBADF
    return True
held = [number for number in range(4, 1_000) if is_open(number)]
if held:
    loot(held)
raise OSError("nothing is open")
""",
    ),
    Attack(
        "speak for the zygote to whoever orders",
        """\
import socket
for number in range(3, 1_000):
    try:
        end = socket.socket(fileno=number)
    except OSError:
        continue
    if end.type == socket.SOCK_SEQPACKET and end.send(b"ready"):
        loot(number)
raise OSError("no such socket")
""",
    ),
    Attack(
        "hold the line on which its exit status is told",
        """\
import socket
for number in range(3, 1_000):
    try:
        end = socket.socket(fileno=number)
    except OSError:
        continue
    if end.type == socket.SOCK_STREAM:
        loot(number)
raise OSError("no such socket")
""",
    ),
    Attack(
        "take descriptors out of the zygote",
        """\
import ctypes
call = ctypes.CDLL(None).syscall
process = call(434, TARGET["zygote"], 0)
taken = [number for number in range(3, 100) if call(438, process, number, 0) >= 0]
if taken:
    loot(taken)
raise OSError("none taken")
""",
    ),
    Attack(
        "trace the zygote",
        """\
import ctypes
if ctypes.CDLL(None).ptrace(0x4206, TARGET["zygote"], None, None) == 0:
    loot("seized")
raise OSError("not traced")
""",
    ),
    Attack(
        "trace a sibling",
        """\
import ctypes
if ctypes.CDLL(None).ptrace(0x4206, TARGET["sibling"], None, None) == 0:
    loot("seized")
raise OSError("not traced")
""",
    ),
    Attack("stop a sibling", 'import os, signal\nos.kill(TARGET["sibling"], signal.SIGSTOP)\nloot("stopped")'),
    Attack("hold up the zygote", 'import os\nos.setpriority(os.PRIO_PROCESS, TARGET["zygote"], 1)\nloot("slower")'),
    Attack("see a sibling", "loot(open(f\"/proc/{TARGET['sibling']}/stat\").read(9))"),
)


@pytest.fixture(autouse=True)
def one_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jail opened in a test has one zygote, so that children are siblings."""
    monkeypatch.setattr(jail_module, "_cores", lambda: 1)


@pytest.fixture
def workload(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module for a zygote: ``WORKLOAD`` and what is added to it."""

    def write(added: str = "") -> str:
        folder = tmp_path_factory.mktemp("modules")
        name = f"workload_in_{folder.name}"
        (folder / f"{name}.py").write_text(WORKLOAD + added)
        monkeypatch.syspath_prepend(folder)
        return name

    return write


@pytest.fixture(scope="module")
def planners() -> Iterator[Jail]:
    with Jail("full", workload=PLANNERS) as jail:
        yield jail


def said(answer: JailResult | JailFailure) -> str:
    assert isinstance(answer, JailFailure)
    return answer.message


def attacked(attack: Attack, jail: Jail) -> str:
    """What the attack says, made while another child of the zygote lives; that one is alive and well afterwards."""
    jail.run("pass")
    jail.limits = PATIENT
    with ThreadPoolExecutor(1) as threads:
        sibling = jail._child(LINGER)
        assert not isinstance(sibling, JailFailure)
        lingering = threads.submit(sibling.run)
        while not (others := children_of(zygote_of(jail))):  # the test's own timeout bounds it
            pass
        try:
            answer = jail.run(attack.script({"zygote": zygote_of(jail), "sibling": others[0]}))
            assert children_of(zygote_of(jail)) == others
        finally:
            sibling.kill()
        assert lingering.result().cause == "cancelled"
    return said(answer)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_succeeds_without_walls_and_fails_behind_them(attack: Attack, workload: Callable[[str], str]) -> None:
    with Jail("minimal", workload=workload(WITHOUT_WALLS)) as bare:
        assert attacked(attack, bare).startswith("SystemExit: LOOT")
    with Jail("full", workload=workload()) as jail:
        zygote = zygote_of(jail)
        found = attacked(attack, jail)
        assert found.startswith(("OSError", "PermissionError")), found
        assert (isinstance(jail.run("pass"), JailResult), zygote_of(jail)) == (True, zygote)


# What a fork would not copy


SHARED = "import mmap\nboard = mmap.mmap(-1, 4096)\n"
POST = """\
import sys
board = sys.modules[{name!r}].board
seen = board[:6]
board[:6] = b"posted"
raise ValueError(seen)
"""


def test_memory_that_children_would_share_is_no_jail(workload: Callable[[str], str]) -> None:
    unchecked = (
        SHARED
        + "def prepare():\n    from hazardmill.sandbox.process import fork_server\n"
        + "    fork_server._check_forkable = print\n"
    )
    name = workload(unchecked)
    with Jail("full", workload=name) as leaky:
        found = [said(leaky.run(POST.format(name=name))) for _ in range(2)]
    assert found == [r"ValueError: b'\x00\x00\x00\x00\x00\x00'", "ValueError: b'posted'"]
    with pytest.raises(JailUnavailable, match="memory that its children would share: /dev/zero"):
        Jail("full", workload=workload(SHARED))


def test_random_numbers_are_not_those_of_the_zygote_or_a_sibling(workload: Callable[[str], str]) -> None:
    known = repr(random.Random(7).random())
    with Jail("full", workload=workload("def prepare():\n    random.seed(7)\n")) as jail:
        drawn = [said(jail.run("import random\nraise ValueError(random.random())")) for _ in range(2)]
        drawn.append(said(jail.run("import random\nrandom.seed(7)\nraise ValueError(random.random())")))
    assert drawn[2] == f"ValueError: {known}"
    assert len(set(drawn)) == 3


SPOILED = """\
import sys, types
planning = sys.modules["unified_planning"]
for name in [name for name in sys.modules if name.startswith("unified_planning")]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["hazardmill.sandbox.workloads.planner_reader"].read_planner = lambda planner: ({"name": "lie"}, [])
"""


def test_spoiled_modules_serve_no_other_code(planners: Jail) -> None:
    nested = f"import hazardmill.sandbox.workloads.planner as u\nraise ValueError(u.run({KETTLE!r})[:40])"
    before = planners.run(KETTLE)
    assert said(planners.run(nested)).startswith('ValueError: b\'{"document":{')
    # In the same process the damage shows: a name that shortcuts gave is gone.
    assert "NameError" in said(planners.run(SPOILED + nested.replace("[:40]", "")))
    assert isinstance(before, JailResult)
    assert planners.run(KETTLE) == before


def test_settings_that_anybody_may_leave_in_a_shared_folder_are_not_read() -> None:
    Path(tempfile.gettempdir(), "up.ini").write_text("[engine planted]\nmodule_name: nowhere\nclass_name: Nothing\n")
    try:
        control = subprocess.run(
            [sys.executable, "-c", "from unified_planning.engines import Factory\nFactory(None)"],
            cwd=tempfile.gettempdir(),
            capture_output=True,
            text=True,
        )
        assert "No module named 'nowhere'" in control.stderr
        with Jail("full", workload=PLANNERS) as jail:
            assert isinstance(jail.run(KETTLE), JailResult)
    finally:
        Path(tempfile.gettempdir(), "up.ini").unlink()


AT_HOME = """\
import os
from hazardmill.sandbox.workloads import planner as up_child
run = up_child.run
def prepare():
    os.path.expanduser = lambda path: {home!r}
    up_child.prepare()
"""
WITH_SETTINGS = "up_child._do_without_settings = int\n    up_child.prepare()"


def test_settings_at_home_are_not_read(
    workload: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "up.ini").write_text("[engine planted]\nmodule_name: nowhere\nclass_name: Nothing\n")
    at_home = AT_HOME.format(home=str(tmp_path))
    with pytest.raises(JailUnavailable, match="No module named 'nowhere'"):
        Jail("full", workload=workload(at_home.replace("up_child.prepare()", WITH_SETTINGS)))
    with Jail("full", workload=workload(at_home)) as jail:
        assert isinstance(jail.run(KETTLE), JailResult)


STANDARD = "import os\nraise ValueError([os.readlink(f'/proc/self/fd/{number}') for number in range(3)])"


def test_standard_descriptors_lead_nowhere_whatever_a_workload_did_with_them(
    workload: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    talkative = "\ndef prepare():\n    os.dup2(os.open('/proc/version', os.O_RDONLY), 1)\n"
    with Jail("minimal", workload=workload(talkative)) as jail:
        assert said(jail.run(STANDARD)) == "ValueError: ['/dev/null', '/dev/null', '/dev/null']"
    monkeypatch.setattr(jail_module, "_FORKS", False)
    with Jail("minimal") as fresh:
        assert said(fresh.run(STANDARD)) == "ValueError: ['/dev/null', '/dev/null', '/dev/null']"


SECRET = "a secret of whoever launched the jail, number 71"
SEARCH = """import gc, sys
def walk():
    seen, todo = set(), [*gc.get_objects(), *sys._current_frames().values()]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, str) and value.startswith("a secret of whoever") and value[-2:] == "71":
            raise ValueError("found")
        todo.extend(gc.get_referents(value))
    raise ValueError("nothing")
walk()
"""


def test_no_object_of_the_launching_process_is_in_a_child(planners: Jail) -> None:
    with pytest.raises(ValueError, match="found"):
        exec(SEARCH, {})
    planners.limits = PATIENT
    assert said(planners.run(SEARCH)) == "ValueError: nothing"


PLACES = """import gc
found = []
todo, seen = [*gc.get_objects()], set()
while todo:
    value = todo.pop()
    if id(value) in seen:
        continue
    seen.add(id(value))
    if type(value) in (str, bytes) and ("/scratch" if type(value) is str else b"/scratch") in value:
        found.append(value)
    todo.extend(gc.get_referents(value))
raise ValueError(len([value for value in found if len(value) > 20]))
"""


def test_no_place_that_was_probed_is_in_the_memory_of_a_draft(workload: Callable[[str], str]) -> None:
    assert "/scratch" in tempfile.gettempdir()
    hoard = """
def prepare():
    from hazardmill.sandbox.process import child_main as walled
    def keep(told, read=walled.Order.from_json):
        board.append(json.dumps(told))
        return read(told)
    walled.Order.from_json = keep
board = []
"""
    with Jail("full", PATIENT, workload=workload(hoard)) as leaky:
        assert said(leaky.run(PLACES)) != "ValueError: 0"
    with Jail("full", PATIENT, workload=workload()) as jail:
        assert said(jail.run(PLACES)) == "ValueError: 0"


def test_nothing_is_imported_from_the_folder_we_stand_in(
    workload: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = workload("import planted\n")
    (tmp_path / "planted.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    Jail("minimal", workload=name).close()
    with Jail("full", workload=name):  # from elsewhere it is found
        pass
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JailUnavailable, match="No module named 'planted'"):
        Jail("full", workload=name)


# Each order has its own answer and its own end


def test_an_answer_that_comes_too_late_is_nobodys(planners: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    before = planners.run(KETTLE)
    late = "import os, time\nos.write(3, b'{\"document\":')\ntime.sleep(1)\nos.write(3, b'{}}\\n')"
    assert planners.run(f"{late}\nos._exit(0)") == JailResult({})
    monkeypatch.setattr(planners, "limits", Limits(wall_seconds=0.3))
    slow = planners.run(late)
    assert isinstance(slow, JailFailure)
    assert slow.reason == "timeout"
    assert children_of(zygote_of(planners)) == []
    monkeypatch.setattr(planners, "limits", Limits())
    assert planners.run(KETTLE) == before


def test_threads_that_share_a_jail_share_its_zygote_and_get_their_own_answers(workload: Callable[[str], str]) -> None:
    codes = [f"import os\nraise ValueError({i})" for i in range(40)]
    with Jail("minimal", workload=workload()) as jail, ThreadPoolExecutor(4) as threads:
        before = set(children_of(os.getpid()))
        answers = [said(answer) for answer in threads.map(jail.run, codes)]
        started = _children_of_all_threads() - before
        assert started == {zygote_of(jail)}
    assert answers == [f"ValueError: {i}" for i in range(40)]


def _children_of_all_threads() -> set[int]:
    lists = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    return {int(pid) for listed in lists for pid in listed}


def test_cpu_time_is_limited_and_counted_from_the_fork(workload: Callable[[str], str]) -> None:
    busy = "def prepare():\n    while time.process_time() < 1.1:\n        pass\n"
    with Jail("full", Limits(wall_seconds=60, cpu_seconds=1), workload=workload(busy)) as jail:
        assert isinstance(jail.run("pass"), JailResult)
        assert said(jail.run("while True:\n    pass")) == "it used more than 1 s of CPU time"


@pytest.mark.parametrize("size", [0, 10, 1_000_000])
@pytest.mark.parametrize("missing", [False, True])
def test_all_of_the_code_arrives_with_and_without_files_in_memory(
    workload: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, missing: bool, size: int
) -> None:
    def refuse(name: str) -> int:
        raise PermissionError(name)

    if missing:
        monkeypatch.setattr(os, "memfd_create", refuse)
    echo = "\ndef run(code):\n    return json.dumps({'document': {'code': code}}).encode() + b'\\n'\n"
    code = "ö" * size + "\r\n"
    with Jail("full", Limits(output_bytes=20_000_000), workload=workload(echo)) as jail:
        assert jail.run(code) == JailResult({"code": code})


def test_when_no_process_can_be_had_only_that_order_fails(workload: Callable[[str], str]) -> None:
    once = """
def prepare():
    fork = os.fork
    def refuse():
        os.fork = fork
        raise BlockingIOError(errno.EAGAIN, "no process left")
    os.fork = refuse
"""
    with Jail("minimal", workload=workload(once)) as jail:
        with pytest.raises(SandboxError, match="no process left"):
            jail.run("pass")
        zygote = zygote_of(jail)
        assert isinstance(jail.run("pass"), JailResult)
        assert zygote_of(jail) == zygote


def test_when_no_descriptor_can_be_had_only_that_order_fails(workload: Callable[[str], str]) -> None:
    with Jail("full", workload=workload()) as jail:
        zygote = zygote_of(jail)
        held = {int(descriptor.name) for descriptor in Path(f"/proc/{zygote}/fd").iterdir()}
        free = min(set(range(len(held) + 1)) - held)
        before = resource.prlimit(zygote, resource.RLIMIT_NOFILE)
        resource.prlimit(zygote, resource.RLIMIT_NOFILE, (free, before[1]))
        with pytest.raises(SandboxError, match="could not accept a request"):
            jail.run("pass")
        resource.prlimit(zygote, resource.RLIMIT_NOFILE, before)
        assert isinstance(jail.run("pass"), JailResult)
        assert zygote_of(jail) == zygote


def test_a_zygote_that_does_not_answer_is_ended_with_its_children(
    workload: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygote, "_REAP_SECONDS", 0.2)
    with (
        Jail("full", Limits(wall_seconds=PATIENCE_S / 60), workload=workload()) as jail,
        ThreadPoolExecutor(1) as threads,
    ):
        stuck = zygote_of(jail)
        running = threads.submit(jail.run, LINGER)
        while not (children := children_of(stuck)):  # the test's own timeout bounds it
            pass
        child = os.pidfd_open(children[0])
        os.kill(stuck, signal.SIGSTOP)
        with pytest.raises(SandboxError, match="did not answer"):
            running.result()
        assert select.select([child], [], [])[0] == [child]
        os.close(child)
        assert isinstance(jail.run("pass"), JailResult)
        assert zygote_of(jail) != stuck


def test_an_order_to_a_zygote_that_has_just_died_goes_to_the_next(
    workload: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Jail("full", workload=workload()) as jail:
        dead = zygote_of(jail)
        os.kill(dead, signal.SIGKILL)
        os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
        assert jail._zygotes is not None
        serving = jail._zygotes._zygotes[0]._serving
        assert serving is not None
        monkeypatch.setattr(serving.process, "poll", lambda: None)  # as if it had died a moment later
        assert isinstance(jail.run("pass"), JailResult)
        assert zygote_of(jail) != dead


# What ends under a draft


COUNTED = """\
import os, time
open(f"{runs}/{{time.time_ns()}}", "x").close()
if {ends} and len(os.listdir({runs!r})) > 1:
    raise ValueError({number})
time.sleep(600)
"""
"""Leaves an empty file a run, which is all that a draft in the minimal jail can write."""


def runs_in(folder: Path) -> int:
    return len(list(folder.iterdir()))


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / "traces" / str(i) for i in range(2)]
    for folder in folders:
        folder.mkdir(parents=True)
    return folders


def test_drafts_whose_zygote_dies_run_once_more_on_another(workload: Callable[[str], str], traces: list[Path]) -> None:
    codes = [COUNTED.format(runs=str(trace), ends=True, number=i) for i, trace in enumerate(traces)]
    with Jail("minimal", PATIENT, workload=workload()) as jail, ThreadPoolExecutor(2) as threads:
        jail.run("pass")
        dead = zygote_of(jail)
        running = [threads.submit(jail.run, code) for code in codes]
        while not all(runs_in(trace) for trace in traces):  # the test's own timeout bounds it
            pass
        os.kill(dead, signal.SIGKILL)
        assert [said(one.result()) for one in running] == ["ValueError: 0", "ValueError: 1"]
        assert zygote_of(jail) != dead
    assert [runs_in(trace) for trace in traces] == [2, 2]


def test_a_draft_under_which_two_zygotes_die_is_not_run_a_third_time(
    workload: Callable[[str], str], traces: list[Path]
) -> None:
    with Jail("minimal", PATIENT, workload=workload()) as jail, ThreadPoolExecutor(1) as threads:
        jail.run("pass")
        running = threads.submit(jail.run, COUNTED.format(runs=str(traces[0]), ends=False, number=0))
        for turn in (1, 2):
            while runs_in(traces[0]) < turn:  # the test's own timeout bounds it
                pass
            os.kill(zygote_of(jail), signal.SIGKILL)
        with pytest.raises(
            SandboxError, match="the jail's fork server ended while it ran the draft, and so did the next one"
        ):
            running.result()
        assert isinstance(jail.run("pass"), JailResult)
    assert runs_in(traces[0]) == 2


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)", "raise MemoryError"])
def test_a_draft_that_ends_itself_is_not_run_again(
    workload: Callable[[str], str], traces: list[Path], end: str
) -> None:
    with Jail("minimal", workload=workload()) as jail:
        code = COUNTED.format(runs=str(traces[0]), ends=False, number=0).replace("time.sleep(600)", end)
        assert isinstance(jail.run(code), JailFailure)
    assert runs_in(traces[0]) == 1


def test_a_draft_that_is_cancelled_when_its_zygote_dies_is_not_run_again(
    workload: Callable[[str], str], traces: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(1) as threads, Jail("minimal", PATIENT, workload=workload()) as jail:
        jail.run("pass")
        child = jail._child(COUNTED.format(runs=str(traces[0]), ends=False, number=0))
        assert not isinstance(child, JailFailure)
        running = threads.submit(child.run)
        while not runs_in(traces[0]):  # the test's own timeout bounds it
            pass
        monkeypatch.setattr(zygote, "_shut_down", lambda line: None)  # as if the zygote had died a moment before
        child.kill()
        os.kill(zygote_of(jail), signal.SIGKILL)
        assert running.result(30).cause == "cancelled"
    assert runs_in(traces[0]) == 1


def test_closing_under_a_draft_says_so_and_starts_no_other_zygote(workload: Callable[[str], str]) -> None:
    with ThreadPoolExecutor(1) as threads, Jail("full", PATIENT, workload=workload()) as jail:
        running = threads.submit(jail.run, LINGER)
        while not children_of(zygote_of(jail)):  # the test's own timeout bounds it
            pass
        jail.close()
        with pytest.raises(SandboxError, match=r"the jail was closed while the draft ran \["):
            running.result()
        assert jail._zygotes is not None
        assert jail._zygotes.pids == []


@pytest.mark.parametrize("forks", [True, False])
def test_what_a_child_wrote_ends_with_it_though_another_holds_its_pipe(
    workload: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, forks: bool
) -> None:
    held = []

    def hold(descriptor: int) -> None:
        held.append(os.dup(descriptor))

    send, start = zygote.ForkedChild._send, process.start

    def send_and_hold(child: zygote.ForkedChild, to: zygote.Zygote, writable: int, line: Any) -> zygote.Serving:
        hold(writable)
        return send(child, to, writable, line)

    def start_and_hold(module: str, told: str, descriptor: int, stdin: Any) -> subprocess.Popen[bytes]:
        hold(descriptor)
        return start(module, told, descriptor, stdin)

    monkeypatch.setattr(jail_module, "_FORKS", forks)
    with Jail("minimal", PATIENT, workload=workload() if forks else jail_module.DRAFTS) as jail:
        jail.run("pass")
        monkeypatch.setattr(zygote.ForkedChild, "_send", send_and_hold)
        monkeypatch.setattr(process, "start", start_and_hold)
        try:
            assert said(jail.run("raise ValueError(71)")) == "ValueError: 71"
            assert said(jail.run("import os\nos._exit(3)")) == "the process ended without a report (status 3)"
            early = "import os, time\nos.write(3, b'{\"document\": {}}\\n')\ntime.sleep(1)\nraise ValueError(71)"
            late = jail.run(early)
        finally:
            for descriptor in held:
                os.close(descriptor)
    assert isinstance(late, JailFailure)
    assert late.reason == "forged_output"
    assert len(held) == 3


CLOSER = """
import ctypes, os, sys, threading
from pathlib import Path
from hazardmill.errors import SandboxError
from hazardmill.sandbox.jail import Jail, Limits
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans become ours
jail = Jail("full", Limits(wall_seconds=600, cpu_seconds=600), workload=sys.argv[1])
zygote = jail._zygotes.pids[0]
def linger():
    try:
        jail.run("import time\\ntime.sleep(600)")
    except SandboxError:
        pass
thread = threading.Thread(target=linger)
thread.start()
while not Path(f"/proc/{zygote}/task/{zygote}/children").read_text():
    pass
jail.close()
thread.join()
try:
    print("orphan", os.waitid(os.P_ALL, 0, os.WEXITED))
except ChildProcessError:
    print("none", end="")
"""


def test_closing_leaves_no_orphan_to_be_reaped_by_others(workload: Callable[[str], str], project: Path) -> None:
    modules = workload()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), sys.path[0]])}
    closed = subprocess.run([sys.executable, "-c", CLOSER, modules], capture_output=True, env=environment, text=True)
    assert (closed.stdout, closed.stderr) == ("none", "")


BYSTANDER = """
import os, signal, sys
from hazardmill.sandbox.process import process, zygote
from hazardmill.sandbox.jail import Jail
zygote._REAP_SECONDS = 20
jail = Jail("full", workload=sys.argv[1])
process = jail._zygotes._zygotes[0]._serving.process
bystander = os.fork()
if not bystander:
    signal.pause()
jail.close()
os.kill(bystander, signal.SIGKILL)
os.waitpid(bystander, 0)
print(process.returncode, end="")
"""


def test_closing_ends_a_zygote_though_another_process_holds_its_socket(
    workload: Callable[[str], str], project: Path
) -> None:
    modules = workload()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), sys.path[0]])}
    closed = subprocess.run([sys.executable, "-c", BYSTANDER, modules], capture_output=True, env=environment, text=True)
    # 0: by itself, and not because it had to be killed.
    assert (closed.stdout, closed.stderr) == ("0", "")


LAUNCHER = """
import os, signal, sys, threading
from hazardmill.sandbox.process import process
from hazardmill.sandbox.jail import Jail, Limits
process._BOOT = sys.argv[2] + process._BOOT
jail = Jail("full", Limits(wall_seconds=600, cpu_seconds=600), workload=sys.argv[1])
bystander = os.fork()
if not bystander:
    signal.pause()
threading.Thread(target=jail.run, args=["import time\\ntime.sleep(600)"], daemon=True).start()
print(jail._zygotes.pids[0], bystander, flush=True)
signal.pause()
"""


@pytest.mark.parametrize(
    "before",
    ["", "import os; del os.pidfd_open; ", "import os; os.pidfd_open = lambda pid: os.open('/no/such/call', 0); "],
    ids=["pidfd", "an interpreter without pidfd", "a kernel without pidfd"],
)
def test_zygote_and_child_die_with_the_process_that_jails_though_another_holds_its_sockets(
    workload: Callable[[str], str], project: Path, before: str
) -> None:
    modules = workload()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), sys.path[0]])}
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, modules, before], stdout=subprocess.PIPE, env=environment
    )
    assert launcher.stdout is not None
    with launcher.stdout:
        parent, bystander = map(int, launcher.stdout.readline().split())
        while not (children := children_of(parent)):  # the test's own timeout bounds it
            pass
        watched = [os.pidfd_open(pid) for pid in (parent, children[0])]
        try:
            launcher.kill()
            launcher.wait()
            assert all(select.select([descriptor], [], [])[0] for descriptor in watched)
            assert Path(f"/proc/{bystander}").exists()
        finally:
            os.kill(bystander, signal.SIGKILL)
            for descriptor in watched:
                os.close(descriptor)
