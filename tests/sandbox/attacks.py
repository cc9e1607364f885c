"""Attack scripts. Each calls ``loot`` (or ends as ``control_status`` says) exactly if it succeeded.

They are run twice: as an ordinary Python process, where each must succeed or it counts for nothing, and in the jail.
Those that eat resources are capped, so that the control run is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.patience import PATIENCE_S

PRELUDE = """\
TARGET = {targets!r}
def loot(what):
    print("LOOT", what, flush=True)
    raise SystemExit("LOOT " + str(what))
"""


@dataclass(frozen=True)
class Attack:
    name: str
    code: str
    reason: str = "exception"
    """How the jail ends it."""
    control_status: int = 1
    """Exit status of a successful control run; 1 is ``loot``."""

    @property
    def wall_seconds(self) -> float:
        """Short only where it is the wall clock that must end it: machines are busy."""
        return 0.5 if self.reason == "timeout" else PATIENCE_S

    def script(self, targets: dict[str, object]) -> str:
        return PRELUDE.format(targets=targets) + self.code


ATTACKS = (
    Attack("read a system file", 'loot(open("/etc/passwd").read(9))'),
    Attack("read the project", 'loot(open(TARGET["project_file"]).read(9))'),
    Attack("read a private file", 'loot(open(TARGET["secret_file"]).read())'),
    Attack(
        "read by a raw system call",
        """\
import ctypes
libc = ctypes.CDLL(None)
descriptor = libc.open(TARGET["secret_file"].encode(), 0)
data = ctypes.create_string_buffer(64)
if libc.read(descriptor, data, 64) > 0:
    loot(data.value)
raise OSError("nothing read")
""",
    ),
    Attack("list a folder", 'import os\nloot(os.listdir("/"))'),
    Attack("look at a file from outside", 'import os\nloot(os.stat(TARGET["secret_file"]).st_size)'),
    Attack("read the environment", 'import os\nloot(os.environ["HAZARDMILL_PLANTED"])'),
    Attack("read own environment block", 'loot(open("/proc/self/environ").read(9))'),
    Attack("read the parent's environment", "loot(open(f\"/proc/{TARGET['parent']}/environ\").read(9))"),
    Attack("create a file", 'open(TARGET["free_path"], "w").close()\nloot("created")'),
    Attack("create a file where it stands", 'open("here", "w").close()\nloot("created")'),
    Attack("delete a file", 'import os\nos.unlink(TARGET["doomed_file"])\nloot("deleted")'),
    Attack("rename a file", 'import os\nos.rename(TARGET["doomed_file"], TARGET["free_path"])\nloot("renamed")'),
    Attack("change a file's mode", 'import os\nos.chmod(TARGET["secret_file"], 0o600)\nloot("changed")'),
    Attack("make a link", 'import os\nos.symlink("/etc", TARGET["free_path"])\nloot("linked")'),
    Attack(
        "connect to a loopback listener",
        'import socket\nsocket.create_connection(("127.0.0.1", TARGET["port"]), 2).close()\nloot("connected")',
    ),
    Attack(
        "send a datagram",
        """\
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(b"x", ("127.0.0.1", TARGET["port"]))
loot("sent")
""",
    ),
    Attack("listen", 'import socket\nsocket.create_server(("127.0.0.1", 0)).close()\nloot("listening")'),
    Attack("pair of sockets", "import socket\nfor end in socket.socketpair():\n    end.close()\nloot('a pair')"),
    Attack("shell", 'import os\nif os.system("exit 7") >> 8 == 7:\n    loot("shell")\nraise OSError("no shell")'),
    Attack("subprocess", 'import subprocess\nloot(subprocess.run(["/bin/echo", "out"], capture_output=True).stdout)'),
    Attack("replace itself", 'import os\nos.execv("/bin/false", ["false"])', control_status=1),
    Attack("fork", "import os\npid = os.fork()\nif not pid:\n    os._exit(0)\nos.waitpid(pid, 0)\nloot(pid)"),
    Attack(
        "fork bomb",
        """\
import os
children = []
for _ in range(30):
    pid = os.fork()
    if not pid:
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
loot(len(children))
""",
    ),
    Attack(
        "thread",
        "import _thread\nlock = _thread.allocate_lock()\nlock.acquire()\n"
        "_thread.start_new_thread(lock.release, ())\nlock.acquire()\nloot('thread')",
    ),
    Attack("signal the parent", 'import os\nos.kill(TARGET["parent"], 0)\nloot("signalled")'),
    Attack("signal everybody", 'import os\nos.kill(-1, 0)\nloot("signalled")'),
    Attack("signal its group", 'import os\nos.killpg(0, 0)\nloot("signalled")'),
    Attack(
        "read the parent's limits", 'import resource\nloot(resource.prlimit(TARGET["parent"], resource.RLIMIT_CORE))'
    ),
    Attack(
        "raise its own limits",
        "import resource\nsoft, hard = resource.getrlimit(resource.RLIMIT_AS)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (hard, hard))\nloot(hard)",
    ),
    Attack("wake the parent's scheduler", 'import os\nloot(os.sched_getaffinity(TARGET["parent"]))'),
    Attack("import a module from disk", "import wave\nloot(wave.__name__)"),
    Attack("take memory", 'hoard = bytes(700 * 1024 * 1024)\nloot("taken")', "memory"),
    Attack(
        "grow a list", 'hoard = []\nfor _ in range(14):\n    hoard.append(bytes(50_000_000))\nloot("taken")', "memory"
    ),
    Attack(
        "busy loop",
        'import time\nwhile time.process_time() < 1.2:\n    pass\nloot("looped")',
        "timeout",
    ),
    Attack(
        "sleep through signals",
        """\
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
    signal.signal(number, signal.SIG_IGN)
time.sleep(0.8)
loot("slept")
""",
        "timeout",
    ),
    Attack(
        "close everything and linger",
        "import os, time\nos.closerange(3, 9)\ntime.sleep(1)\nos._exit(5)",
        "crashed",
        control_status=5,
    ),
    Attack("leave at once", "import os\nos._exit(7)", "crashed", control_status=7),
    Attack("segfault", "import ctypes\nctypes.string_at(0)", "crashed", control_status=-11),
    Attack(
        "exhaust the C stack",
        "import sys\nsys.setrecursionlimit(10**9)\nnest = ()\nfor _ in range(10**6):\n    nest = (nest,)\nhash(nest)",
        "crashed",
        control_status=-11,
    ),
    Attack(
        "flood the output",
        """\
import os
def flood(descriptor):
    for _ in range(40):
        os.write(descriptor, b"x" * 50_000)
for descriptor in (1, 3):
    try:
        flood(descriptor)
    except OSError:
        pass
loot("flooded")
""",
        "output_too_large",
    ),
    Attack(
        "escape by way of subclasses",
        """\
opener = next(c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "FileLoader")
loot(opener.get_data(opener("x", TARGET["secret_file"]), TARGET["secret_file"]))
""",
    ),
    Attack(
        "escape by way of sys.modules",
        """\
import sys
loot(sys.modules["posix"].open(TARGET["secret_file"], 0))
""",
    ),
    Attack("look up a name", 'import socket\nloot(socket.getaddrinfo("localhost", 80)[0][4])'),
    Attack(
        "unpickle a call",
        """\
import pickle
if pickle.loads(b"cposix\\nsystem\\n(S'exit 7'\\ntR.") >> 8 == 7:
    loot("called")
raise OSError("not called")
""",
    ),
    Attack(
        "import by a hook of its own",
        """\
import importlib.abc, importlib.util, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "hooked":
            return importlib.util.spec_from_file_location(name, TARGET["module_file"])
sys.meta_path.insert(0, Finder())
import hooked
loot(hooked.VALUE)
""",
    ),
    Attack(
        "walk through all objects for a secret of whoever launched it",
        """\
import gc
for holder in gc.get_objects():
    for held in gc.get_referents(holder):
        if isinstance(held, dict) and b"HAZARDMILL_PLANTED" in held:
            loot(held[b"HAZARDMILL_PLANTED"])
raise OSError("nothing found")
""",
    ),
)

OF_THE_ZYGOTE = (
    Attack("signal the zygote", 'import os\nos.kill(TARGET["zygote"], 0)\nloot("signalled")'),
    Attack("read the zygote's environment", "loot(open(f\"/proc/{TARGET['zygote']}/environ\").read(9))"),
    Attack("look into the zygote's memory", "open(f\"/proc/{TARGET['zygote']}/mem\", 'rb').close()\nloot('open')"),
    Attack("read its limits", 'import resource\nloot(resource.prlimit(TARGET["zygote"], resource.RLIMIT_CORE))'),
    Attack(
        "write a gigabyte",
        """\
import os
block = b"x" * 1_000_000
for descriptor in (3, 1):
    try:
        for _ in range(1_000):
            os.write(descriptor, block)
    except OSError:
        pass
    else:
        loot("written")
raise OSError("not written")
""",
        "output_too_large",
    ),
)
ALL = (*ATTACKS, *OF_THE_ZYGOTE)
