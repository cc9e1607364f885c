"""Make `use_a_release.ipynb` of `use_a_release.py` anew: convert, run on a release, and write what came out.

    python notebooks/execute.py [RELEASE [OUT.ipynb]]

Without a release it is made on that of `hazardmill demo`, as it is in the repository.

The same release gives the same bytes: nothing of times, versions or this machine is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

SOURCE = Path(__file__).with_suffix("").with_name("use_a_release.py")


def main(release: str, out: str = str(SOURCE.with_suffix(".ipynb"))) -> None:
    """Run it on ``release``, the folder of a release, and write ``out``."""
    notebook = jupytext.read(SOURCE, as_version=4)
    os.environ |= {
        "HAZARDMILL_RELEASE": str(Path(release).resolve()),
        "HF_HUB_OFFLINE": "1",
        # Without the widgets of Jupyter, whoever imports datasets is told so.
        "PYTHONWARNINGS": "ignore:IProgress not found",
    }
    with tempfile.TemporaryDirectory() as folder:
        # Sockets in a folder of our own: nobody else on this machine can send the kernel anything.
        config = Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"})
        # Nets only, for a machine that does much else: what a kernel takes there says nothing about the page.
        client = NotebookClient(
            notebook, config=config, startup_timeout=900, timeout=900, record_timing=False, coalesce_streams=True
        )
        client.execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"
    nbformat.validate(notebook)
    Path(out).write_text(nbformat.writes(notebook, version=4) + "\n")


def main_on_the_demo() -> None:
    """Run it on the release of a demo that is made for it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # What an earlier release left in the cache of datasets was taken for this one's rows.
        os.environ["HF_HOME"] = str(place / "cache")
        demo = [sys.executable, "-m", "hazardmill.cli.main", "demo", "--json", "--out", place / "demo"]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
        main(str(place / "demo" / "release"))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main_on_the_demo()
    else:
        main(*sys.argv[1:])
