"""Size is worked out before anything is ground: what is too large is refused at once, the rest is within the bound."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, Document, Effect, FluentDecl, Parameter, TypeDecl
from hazardmill.formalism.search.budget import DRAFT_LIMIT, most_bytes
from hazardmill.formalism.semantics.ground_size import MOST_BYTES, ground_size
from hazardmill.formalism.semantics.transition_system import System

from . import large_tasks
from .large_tasks import A, B, task, things
from .soup import soup_document

TOO_LARGE = {
    "integers_over_pairs": "160,000 ground integer fluents; the limit is 20,000",
    "booleans_over_pairs": "800,010 ground parts; the limit is 500,000",
    "goal_over_pairs": "360,001 ground parts over up to 360,001 ground fluents; the limit is 1,394 parts",
    "nested_quantifiers": r"the goal unfolds into over 10\^11 ground parts",
    "wide_effects": "3,030,110 ground parts; the limit is 500,000",
    "impossible_actions": r"over 10\^31 ground actions; the limit is 200,000",
    "many_impossible_actions": "786,442 ground parts; the limit is 500,000",
    "many_flips": "90,001 ground fluents, together some 4,164 MB; the limit is 128 MB",
}

PROOF = """
import json, sys, time
from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from tests.formalism.large_tasks import SHAPES
document = SHAPES[sys.argv[1]]()
before = time.process_time()
try:
    said = [line.name for line in certify(document, DRAFT_LIMIT).lines if line.passed is None]
except SearchLimitReached as refusal:
    said = refusal.message
# Not ru_maxrss: a child begins with that of whoever started it.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps([said, peak, time.process_time() - before]))
"""


@pytest.mark.parametrize("shape", TOO_LARGE)
def test_what_is_too_large_is_refused_before_anything_is_ground_with_numbers_and_a_mend(shape):
    document = large_tasks.SHAPES[shape]()
    tracemalloc.start()
    try:
        with pytest.raises(SearchLimitReached, match=TOO_LARGE[shape]) as caught:
            System(document).all_actions()
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert caught.value.remedy.startswith("use fewer objects")


@pytest.mark.full
@pytest.mark.parametrize("shape", large_tasks.SHAPES)
def test_every_shape_is_proved_or_refused_in_little_memory_and_time(shape):
    run = subprocess.run(
        [sys.executable, "-c", PROOF, shape],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        timeout=100,
    )
    _, peak, seconds = json.loads(run.stdout)
    assert peak < 100_000_000 + MOST_BYTES + most_bytes(DRAFT_LIMIT)
    assert seconds < 30


def scaled() -> dict[str, Document]:
    """Tasks of a few thousand ground parts, of each kind."""
    on, count = ("fluent", "on", "?a", "?b"), ("fluent", "count", "?a")
    some = ("exists", (("?x", "object"),), ("fluent", "on", "?a", "?x"))
    put = ActionDecl("put", (A, B), ("not", on), (Effect("assign", on, True),))
    rise = ActionDecl("rise", (A, B), ("<", count, ("+", count, 7)), (Effect("increase", count, ("+", count, 300)),))
    fork = ActionDecl(
        "fork", (A, B), some, (Effect("assign", on, True, some), Effect("assign", on, False, ("not", some)))
    )
    fluents = [FluentDecl("on", (A, B)), FluentDecl("count", (A,), integer=True)]
    return {each.name: task(36, fluents, [each]) for each in (put, rise, fork)}


@pytest.mark.full
@pytest.mark.parametrize("kind", scaled())
def test_what_is_ground_takes_no_more_than_was_worked_out(kind):
    document = scaled()[kind]
    size = ground_size(document)
    tracemalloc.start()
    try:
        system = System(document)
        actions = system.all_actions()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(actions) == size.instances == 1297
    assert peak < size.bytes < 12 * peak


def test_the_numbers_of_a_small_task():
    size = ground_size(soup_document())
    system = System(soup_document())
    actions = system.all_actions()
    assert (size.integers, size.instances) == (len(system.integers), 3)
    assert len(system.atoms) <= size.booleans <= 8
    assert [action.work for action in actions] == [1] * len(actions)


def test_one_instance_may_be_judged_where_all_are_too_many():
    pair = tuple(Parameter(f"?p{i}", "object") for i in range(3))
    document = Document.of(
        objects=things(400),
        fluents=[FluentDecl("done")],
        actions=[ActionDecl("finish", pair, True, (Effect("assign", ("fluent", "done"), True),))],
        goal=("fluent", "done"),
    )
    system = System(document)
    assert system.ground("finish", ("o1", "o2", "o3")).step(0, ()) is not None
    with pytest.raises(SearchLimitReached, match="64,000,000 ground actions"):
        system.all_actions()
    wide = ("exists", tuple((f"?x{i}", "object") for i in range(3)), ("fluent", "done"))
    system = System(task(100, [], [ActionDecl("look", (), wide)]))
    with pytest.raises(SearchLimitReached, match="each instance of look unfolds into 1,000,001 ground parts"):
        system.ground("look", ())


def test_objects_of_subtypes_count_for_each_type_above():
    document = Document.of(
        types=[TypeDecl("cup", "thing"), TypeDecl("thing")],
        objects=[large_tasks.ObjectDecl("a", "cup"), large_tasks.ObjectDecl("b", "thing")],
        fluents=[
            FluentDecl(name, (Parameter("?x", type_),), integer=True)
            for name, type_ in (("c", "cup"), ("t", "thing"), ("o", "object"))
        ],
        actions=[ActionDecl("finish", (), True, ())],
    )
    assert ground_size(document).integers == 1 + 2 + 2 == len(System(document).integers)
