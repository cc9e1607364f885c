"""As ``as_ordinary_user.py``, in a jail that forks from a zygote with Unified Planning loaded."""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    from hazardmill.sandbox.jail import PLANNERS, Jail, Limits
    from tests.formalism.despite_folders import KETTLE
    from tests.sandbox.attacks import ALL
    from tests.sandbox.conftest import zygote_of
    from tests.sandbox.test_zygote import ATTACKS

    outcomes = {}
    with Jail("full", workload=PLANNERS) as jail:
        # Of siblings there are none, but the zygote is a process of the same user too.
        targets = {**json.load(sys.stdin), "parent": os.getpid(), "zygote": zygote_of(jail), "sibling": zygote_of(jail)}
        for attack in (*ALL, *ATTACKS):
            jail.limits = Limits(wall_seconds=attack.wall_seconds)
            answer = jail.run(attack.script(targets))
            outcomes[attack.name] = [getattr(answer, "reason", "result"), getattr(answer, "message", "")]
        jail.limits = Limits()
        afterwards = type(jail.run(KETTLE)).__name__
    print(json.dumps({"user": os.geteuid(), "profile": jail.profile, "outcomes": outcomes, "afterwards": afterwards}))


if __name__ == "__main__":
    if os.geteuid() == 0:
        from as_ordinary_user import become_ordinary

        become_ordinary()
    main()
