"""Run the attacks named on standard input in a jail opened by a user who is not root; print what came of each.

Started as root it first becomes one: user 1000 of a new user namespace, which may read what root may (the interpreter
may lie in root's home) and has no capability; where that is forbidden, nobody.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

NEW_USER_NAMESPACE = 0x10000000


def become_ordinary() -> None:
    user, group = os.getuid(), os.getgid()
    if ctypes.CDLL(None).unshare(NEW_USER_NAMESPACE) == 0:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"1000 {user} 1")
        (own / "gid_map").write_text(f"1000 {group} 1")
    else:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    os.execv(sys.executable, [sys.executable, *sys.argv])


def main() -> None:
    from hazardmill.sandbox.jail import Jail, Limits
    from tests.sandbox.attacks import ALL
    from tests.sandbox.conftest import SOUP, zygote_of
    from tests.sandbox.test_zygote import ATTACKS

    outcomes = {}
    with Jail("full") as jail:
        # Of siblings there are none, but the zygote is a process of the same user too.
        zygote = zygote_of(jail)
        targets = {**json.load(sys.stdin), "parent": os.getpid(), "zygote": zygote, "sibling": zygote}
        for attack in (*ALL, *ATTACKS):
            jail.limits = Limits(wall_seconds=attack.wall_seconds)
            answer = jail.run(attack.script(targets))
            outcomes[attack.name] = [getattr(answer, "reason", "result"), getattr(answer, "message", "")]
        jail.limits = Limits()
        afterwards = type(jail.run(SOUP)).__name__
    capabilities = next(line for line in Path("/proc/self/status").read_text().splitlines() if line[:6] == "CapEff")
    print(
        json.dumps(
            {
                "user": os.geteuid(),
                "capabilities": int(capabilities.split()[1], 16),
                "profile": jail.profile,
                "outcomes": outcomes,
                "afterwards": afterwards,
            }
        )
    )


if __name__ == "__main__":
    if os.geteuid() == 0:
        become_ordinary()
    main()
