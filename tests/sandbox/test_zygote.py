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

import pytest

from hazardmill.errors import JailUnavailable, SandboxError
from hazardmill.sandbox import jail as jail_module
from hazardmill.sandbox import zygote
from hazardmill.sandbox.jail import PLANNERS, Jail, JailFailure, JailResult, Limits
from tests.formalism.despite_folders import KETTLE

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
    from hazardmill.sandbox import layers
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
        SHARED + "def prepare():\n    from hazardmill.sandbox import forking\n    forking._check_forkable = print\n"
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
sys.modules["hazardmill.sandbox.up_reading"].read_planner = lambda planner: ({"name": "lie"}, [])
"""


def test_spoiled_modules_serve_no_other_code(planners: Jail) -> None:
    nested = f"import hazardmill.sandbox.up_child as u\nraise ValueError(u.run({KETTLE!r})[:40])"
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
from hazardmill.sandbox import up_child
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
        with pytest.raises(SandboxError, match="could take no order"):
            jail.run("pass")
        resource.prlimit(zygote, resource.RLIMIT_NOFILE, before)
        assert isinstance(jail.run("pass"), JailResult)
        assert zygote_of(jail) == zygote


def test_a_zygote_that_does_not_answer_is_ended_with_its_children(
    workload: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygote, "_REAP_SECONDS", 0.2)
    with Jail("full", Limits(wall_seconds=0.2), workload=workload()) as jail, ThreadPoolExecutor(1) as threads:
        stuck = zygote_of(jail)
        running = threads.submit(jail.run, LINGER)
        while not (children := children_of(stuck)):  # the test's own timeout bounds it
            pass
        child = os.pidfd_open(children[0])
        os.kill(stuck, signal.SIGSTOP)
        with pytest.raises(SandboxError, match="does not answer"):
            running.result()
        assert select.select([child], [], [], 30)[0] == [child]
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
        monkeypatch.setattr(
            jail._zygotes._zygotes[0]._process, "poll", lambda: None
        )  # as if it had died a moment later
        assert isinstance(jail.run("pass"), JailResult)
        assert zygote_of(jail) != dead


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


LAUNCHER = """
import os, signal, sys, threading
from hazardmill.sandbox.jail import Jail, Limits
jail = Jail("full", Limits(wall_seconds=600, cpu_seconds=600), workload=sys.argv[1])
bystander = os.fork()
if not bystander:
    signal.pause()
threading.Thread(target=jail.run, args=["import time\\ntime.sleep(600)"], daemon=True).start()
print(jail._zygotes.pids[0], bystander, flush=True)
signal.pause()
"""


def test_zygote_and_child_die_with_the_process_that_jails_though_another_holds_its_sockets(
    workload: Callable[[str], str], project: Path
) -> None:
    modules = workload()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), sys.path[0]])}
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, modules], stdout=subprocess.PIPE, env=environment)
    assert launcher.stdout is not None
    with launcher.stdout:
        parent, bystander = map(int, launcher.stdout.readline().split())
        while not (children := children_of(parent)):  # the test's own timeout bounds it
            pass
        watched = [os.pidfd_open(pid) for pid in (parent, children[0])]
        try:
            launcher.kill()
            launcher.wait()
            assert all(select.select([descriptor], [], [], 30)[0] for descriptor in watched)
            assert Path(f"/proc/{bystander}").exists()
        finally:
            os.kill(bystander, signal.SIGKILL)
            for descriptor in watched:
                os.close(descriptor)
