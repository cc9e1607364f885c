"""A workload for drafts that also loads all that the attacks import, so that only walls can stop them."""

from __future__ import annotations

import importlib

from hazardmill.sandbox.workloads import authoring

run = authoring.run


def prepare() -> None:
    for (
        name
    ) in "ctypes encodings.idna gc importlib.abc importlib.util pickle resource signal socket subprocess".split():
        importlib.import_module(name)
    authoring.prepare()
