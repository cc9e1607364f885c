"""From a motif, its cast and a record to the code of a task."""

from __future__ import annotations

from hazardmill.llm.backends.offline.batch import build_batch
from hazardmill.llm.backends.offline.casting import Cast
from hazardmill.llm.backends.offline.code import TaskCode
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.guarded import build_guarded
from hazardmill.llm.backends.offline.loads import build_loads
from hazardmill.llm.backends.offline.motif import Batch, Guarded, Loads, Motif, Route
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.llm.backends.offline.rounds import build_round
from hazardmill.llm.backends.offline.route import build_route
from hazardmill.llm.backends.offline.stage import Stage


def compose(motif: Motif, cast: Cast, reading: Reading, draws: Draws) -> TaskCode:
    """Write the task of a motif for one record; ``draws`` decides everything that the record leaves open."""
    task = cast.say(motif.task)
    code = TaskCode(
        class_name="".join(word.capitalize() for word in _words(task)[:7]),
        title=task[0].upper() + task[1:] + ".",
        danger_type=motif.danger_type.value,
    )
    stage = Stage(motif, cast, reading, draws.under("compose", motif.name), code)
    shape = motif.shape
    if isinstance(shape, Guarded):
        build_guarded(stage, shape)
    elif isinstance(shape, Route):
        build_route(stage, shape)
    elif isinstance(shape, Batch):
        build_batch(stage, shape)
    elif isinstance(shape, Loads):
        build_loads(stage, shape)
    else:
        build_round(stage, shape)
    code.drop_unread()
    stage.add_decoys()
    return code


def _words(sentence: str) -> list[str]:
    return [word for word in "".join(c if c.isalnum() else " " for c in sentence).split() if word not in ("the", "of")]
