"""Make `use_a_release.ipynb` of `use_a_release.py` anew: convert, run on a release, and write what came out.

    python notebooks/execute.py RELEASE [OUT.ipynb]

The same release gives the same bytes: nothing of times, versions or this machine is kept.
"""

from __future__ import annotations

import os
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
        client = NotebookClient(notebook, config=config, timeout=120, record_timing=False, coalesce_streams=True)
        client.execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"
    nbformat.validate(notebook)
    Path(out).write_text(nbformat.writes(notebook, version=4) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
