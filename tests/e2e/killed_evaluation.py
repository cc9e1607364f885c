"""``killed_over_http`` for ``hazardmill evaluate``: what its commands import is imported once for all workers."""

from __future__ import annotations

from e2e.killed_over_http import begin, import_clients
from e2e.killed_run import serve


def main() -> None:
    # What every worker needs.
    from hazardmill.cli import main  # noqa: F401
    from hazardmill.cli.evaluate import abilities, episodes, run  # noqa: F401

    import_clients()
    serve(begin)


if __name__ == "__main__":
    main()
