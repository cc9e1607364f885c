"""Scene graphs, as VirtualHome writes them, into states of objects and relations; success over recorded graphs.

A graph has ``nodes`` (``id``, ``class_name``, ``states``) and ``edges`` (``from_id``, ``relation_type``, ``to_id``);
other keys are ignored. A pair has an ``init_graph`` and a ``final_graph``: the start and the end of a reference. With
graphs that a simulator recorded, scripts are judged without one.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeGuard

from hazardmill.errors import PlanningInputError
from hazardmill.files import MOST_BYTES, open_regular
from hazardmill.hazards.success import Fact, RelationRule, ScriptSuccess, WorldState, reaches, success_of

_GRAPH: Final = "write a graph as nodes (id, class_name, states) and edges (from_id, relation_type, to_id)"
_PAIR: Final = "write both init_graph and final_graph"
_SCRIPT: Final = (
    'write {"script_id": ..., "graphs": [graph, ...]} per line, with init_graph and final_graph, or as "reference" the'
    " path of a file that has both"
)


@dataclass(frozen=True, slots=True)
class GraphPair:
    """What a reference starts from and brings about.

    Attributes:
        start: The state at the start.
        goal: The state at the end.
    """

    start: WorldState
    goal: WorldState

    @property
    def defines_success(self) -> bool:
        """Whether the reference changes something."""
        return not self.goal.changes_nothing(self.start)

    @property
    def by_relations_alone(self) -> bool:
        """Whether no object changes its state, so that success is a matter of relations."""
        return self.defines_success and not self.goal.changed_objects(self.start)


@dataclass(frozen=True, slots=True)
class GraphScript:
    """The recorded graphs of one script.

    Attributes:
        script_id: Id of the script in its file.
        reference: Start and end of its reference.
        graphs: The states after its steps, in order.
        executable: Whether the simulator could do all of the script.
    """

    script_id: str
    reference: GraphPair
    graphs: tuple[WorldState, ...]
    executable: bool = True


def judge_graphs(script: GraphScript, relations: RelationRule = "required") -> ScriptSuccess:
    """Return whether recorded graphs reach the end of their reference.

    Args:
        script: The recorded graphs; graphs have no goal but the reference.
        relations: Which relations count.
    """
    start, goal = script.reference.start, script.reference.goal
    return success_of(
        (reaches(graph, start, goal, relations) for graph in script.graphs),
        whole=script.executable,
        defined=script.reference.defines_success,
        goal=None,
    )


def read_scene_graph(value: object, place: str, ignore: Collection[str] = ()) -> WorldState:
    """Return the state that a graph describes; the objects are called ``class_name.id``.

    Args:
        value: The graph as JSON values.
        place: Where it stands; messages begin with it.
        ignore: Types of relations, and states, that are left out.

    Raises:
        PlanningInputError: It is not a graph, two nodes have one id, or an edge leads to no node.
    """  # noqa: DOC501  # the helper makes the error
    if not isinstance(value, dict):
        raise _error(f"{place} is not a graph", _GRAPH)
    names: dict[int, str] = {}
    objects: dict[str, frozenset[Fact]] = {}
    for where, node in _items(value, "nodes", place):
        number, name, states = node.get("id"), node.get("class_name"), node.get("states", [])
        if not _is_id(number) or not isinstance(name, str) or not isinstance(states, list):
            raise _error(f"{where} is not a node", _GRAPH)
        if number in names:
            raise _error(f"{where}: the id {number} occurs twice", "give each node an id of its own")
        if not all(isinstance(state, str) for state in states):
            raise _error(f"{where}.states holds something that is not text", _GRAPH)
        names[number] = f"{name}.{number}"
        objects[names[number]] = frozenset((state,) for state in states if state not in ignore)
    relations: set[Fact] = set()
    for where, edge in _items(value, "edges", place):
        relation = edge.get("relation_type")
        if not isinstance(relation, str):
            raise _error(f"{where} has no relation_type", _GRAPH)
        ends = []
        for key in ("from_id", "to_id"):
            number = edge.get(key)
            if not _is_id(number) or number not in names:
                message = f"{where}.{key}: there is no node {str(number)[:40]}"
                raise _error(message, "give the node, or leave out the edge")
            ends.append(names[number])
        if relation not in ignore:
            relations.add((relation, *ends))
    return WorldState(objects, frozenset(relations))


def read_graph_pair(value: object, place: str, ignore: Collection[str] = ()) -> GraphPair:
    """Return the pair of graphs that JSON values describe.

    Args:
        value: An object with ``init_graph`` and ``final_graph``; other keys are ignored.
        place: Where it stands; messages begin with it.
        ignore: As for ``read_scene_graph``.

    Raises:
        PlanningInputError: One of the graphs is missing or none.
    """  # noqa: DOC501  # the helper makes the error
    if not isinstance(value, dict) or not {"init_graph", "final_graph"} <= value.keys():
        raise _error(f"{place} is not a pair of graphs", _PAIR)
    start, goal = (read_scene_graph(value[key], f"{place}.{key}", ignore) for key in ("init_graph", "final_graph"))
    return GraphPair(start, goal)


def read_graph_pair_file(path: Path, ignore: Collection[str] = ()) -> GraphPair:
    """Read a file with a pair of graphs.

    Args:
        path: A file of JSON; one whose name ends in ``.gz`` is unpacked.
        ignore: As for ``read_scene_graph``.

    Returns:
        The pair.

    Raises:
        PlanningInputError: It cannot be read, is no JSON, or has no pair of graphs.
    """
    try:
        with open_regular(path) as file:
            packed = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            content = packed.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise PlanningInputError(f"the graphs have over {MOST_BYTES} bytes", file=str(path), remedy=_PAIR)
        return read_graph_pair(json.loads(content), "the file", ignore)
    except PlanningInputError as error:
        error.file = str(path)
        raise
    except (OSError, EOFError, zlib.error) as error:
        detail = getattr(error, "strerror", None) or error
        raise PlanningInputError(f"the graphs cannot be read: {detail}", file=str(path), remedy=_PAIR) from error
    except (ValueError, RecursionError) as error:
        raise PlanningInputError(f"the graphs are not JSON: {error}", file=str(path), remedy=_PAIR) from error


def read_graph_scripts(path: Path, ignore: Collection[str] = ()) -> Iterator[GraphScript | PlanningInputError]:
    """Read scripts with their recorded graphs, line by line.

    Args:
        path: JSON lines with ``script_id``, ``graphs`` and, unless false, ``executable``. The reference is
            ``init_graph`` and ``final_graph``, or ``reference``: the path of a file that has both, seen from this one.
        ignore: As for ``read_scene_graph``.

    Yields:
        A script for each good line, and an error with file, line and remedy for each bad one.

    Raises:
        PlanningInputError: The file cannot be read.
    """
    pairs: dict[str, GraphPair] = {}
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    yield _script(json.loads(line), path.parent, ignore, pairs)
                except PlanningInputError as error:
                    if error.file is None:
                        error.file, error.line = str(path), number
                    yield error
                except (ValueError, RecursionError) as error:
                    wrong = f"the line is not JSON: {error}"
                    yield PlanningInputError(wrong, file=str(path), line=number, remedy=_SCRIPT)
    except OSError as error:
        raise PlanningInputError(
            f"the graphs cannot be read: {error.strerror or error}", file=str(path), remedy=_SCRIPT
        ) from error


def _script(value: object, folder: Path, ignore: Collection[str], pairs: dict[str, GraphPair]) -> GraphScript:
    if not isinstance(value, dict) or not isinstance(value.get("script_id"), str):
        raise _error("the line is not a script", _SCRIPT)
    graphs, executable = value.get("graphs"), value.get("executable", True)
    if not isinstance(graphs, list) or not isinstance(executable, bool):
        raise _error("the line has no list of graphs", _SCRIPT)
    named = value.get("reference")
    if named is None:
        pair = read_graph_pair(value, "the line", ignore)
    elif isinstance(named, str):
        # Many scripts share a reference, and its file is large.
        pair = pairs.get(named) or read_graph_pair_file(folder / named, ignore)
        pairs[named] = pair
    else:
        raise _error("reference is not a path", _SCRIPT)
    states = tuple(read_scene_graph(graph, f"graphs[{place}]", ignore) for place, graph in enumerate(graphs, 1))
    return GraphScript(value["script_id"], pair, states, executable)


def _items(graph: Mapping[str, Any], key: str, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    items: Sequence[Any] | None = graph.get(key)
    if not isinstance(items, list):
        raise _error(f"{place} has no list of {key}", _GRAPH)
    for number, item in enumerate(items, 1):
        where = f"{place}.{key}[{number}]"
        if not isinstance(item, dict):
            raise _error(f"{where} is not an object", _GRAPH)
        yield where, item


def _is_id(value: object) -> TypeGuard[int]:
    # A bool is an int to Python.
    return isinstance(value, int) and not isinstance(value, bool)


def _error(message: str, remedy: str) -> PlanningInputError:
    return PlanningInputError(message, remedy=remedy)
