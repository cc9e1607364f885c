"""Run the attacks behind no layer, each layer alone, all, and all but one; print which succeeded behind which.

As root, or with the argument ``ordinary`` as a user who is not.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    from hazardmill.sandbox.jail import Jail
    from hazardmill.sandbox.process import isolation
    from tests.sandbox.attacks import ALL

    targets = {**json.load(sys.stdin), "parent": os.getpid()}
    with Jail("full", workload="armed") as jail:
        standing = jail.layers
    # Time and bytes are the parent's to count: layers have no part in it.
    walled = [attack for attack in ALL if attack.reason in ("exception", "memory")]
    succeeded = {"none": _succeeding(ALL, (), targets), "all": _succeeding(ALL, standing, targets)}
    for name in standing:
        succeeded[name] = _succeeding(walled, (name,), targets)
        succeeded[f"all but {name}"] = _succeeding(walled, tuple(other for other in standing if other != name), targets)
    print(
        json.dumps(
            {"user": os.geteuid(), "layers": standing, "landlock": isolation.landlock_version(), "succeeded": succeeded}
        )
    )


def _succeeding(attacks, wanted, targets):
    from hazardmill.sandbox.jail import Jail, Limits
    from tests.sandbox.conftest import zygote_of

    found = []
    with Jail("minimal", workload="armed") as jail:
        jail.layers = wanted
        jail.abilities()
        for attack in attacks:
            Path(targets["secret_file"]).write_text("secret text")
            Path(targets["doomed_file"]).write_text("still here")
            Path(targets["free_path"]).unlink(missing_ok=True)
            jail.limits = Limits(wall_seconds=attack.wall_seconds)
            answer = jail.run(attack.script({**targets, "zygote": zygote_of(jail)}))
            message = getattr(answer, "message", "")
            if "LOOT" in message or getattr(answer, "reason", "result") != attack.reason:
                found.append(attack.name)
            elif "No module named" in message and attack.name != "import a module from disk":
                raise SystemExit(f"{attack.name} was not armed: {message}")
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["ordinary"] and os.geteuid() == 0:
        from as_ordinary_user import become_ordinary

        become_ordinary()
    main()
