"""Scene graphs: EAI's pairs, each switch, and what is not a graph."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import PlanningInputError
from hazardmill.hazards.scene_graphs import (
    GraphScript,
    judge_graphs,
    read_graph_pair,
    read_graph_pair_file,
    read_graph_scripts,
    read_scene_graph,
)
from hazardmill.hazards.success import reaches


def graph(*, on: bool = False, where: int = 2, near: bool = False) -> dict[str, Any]:
    edges = [{"from_id": 1, "relation_type": "INSIDE", "to_id": where}]
    if near:
        edges.append({"from_id": 1, "relation_type": "CLOSE", "to_id": 4})
    return {
        "nodes": [
            {"id": 1, "class_name": "cup", "states": []},
            {"id": 2, "class_name": "fridge", "states": ["CLOSED"], "category": "Appliances"},
            {"id": 3, "class_name": "sink", "states": ["ON" if on else "OFF"]},
            {"id": 4, "class_name": "table", "states": []},
        ],
        "edges": edges,
    }


PAIR = {"init_graph": graph(), "final_graph": graph(where=3)}


def script(*graphs: dict[str, Any], ignore: tuple[str, ...] = (), pair: Any = PAIR, whole: bool = True) -> GraphScript:
    states = tuple(read_scene_graph(each, "graph", ignore) for each in graphs)
    return GraphScript("s", read_graph_pair(pair, "pair", ignore), states, whole)


def test_every_published_final_graph_reaches_itself_and_no_initial_one_does(reference: Path) -> None:
    folder = reference / "data" / "eai" / "virtualhome" / "init_and_final_graphs"
    files = sorted(folder.rglob("*.json.gz"))
    assert len(files) == 24
    alone = 0
    for path in files:
        pair = read_graph_pair_file(path)
        alone += pair.by_relations_alone
        for relations in ("required", "exact"):
            assert reaches(pair.goal, pair.start, pair.goal, relations), path  # type: ignore[arg-type]
            assert not reaches(pair.start, pair.start, pair.goal, relations), path  # type: ignore[arg-type]
    assert alone == 10


def test_a_script_is_judged_by_its_graphs() -> None:
    found = judge_graphs(script(graph(), graph(where=3), graph(where=3, on=True)))
    assert (found.reached, found.final, found.goal, found.step) == (True, False, None, 2)
    assert judge_graphs(script(graph(where=3))).final is True
    assert judge_graphs(script(graph(where=3), whole=False)).reached is False
    assert judge_graphs(script()).reached is False
    unchanged = judge_graphs(script(graph(), pair={"init_graph": graph(), "final_graph": graph()}))
    assert (unchanged.reached, unchanged.final) == (None, None)


def test_only_exact_and_only_ignored_relations_change_that() -> None:
    assert judge_graphs(script(graph(where=3, near=True))).reached is True
    assert judge_graphs(script(graph(where=3, near=True)), "exact").reached is False
    assert judge_graphs(script(graph(where=3, near=True), ignore=("CLOSE",)), "exact").reached is True
    assert judge_graphs(script(graph(where=3, on=True), ignore=("ON", "OFF"))).reached is True


def test_an_object_that_comes_or_goes_is_a_change() -> None:
    poorer = graph(where=3)
    poorer["nodes"] = poorer["nodes"][:3]
    assert judge_graphs(script(poorer)).reached is False
    assert judge_graphs(script(poorer, pair={"init_graph": graph(), "final_graph": poorer})).reached is True


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "g is not a graph"),
        ({"nodes": {}}, "g has no list of nodes"),
        ({"nodes": [7]}, "g.nodes[1] is not an object"),
        ({"nodes": [{"id": True, "class_name": "a"}], "edges": []}, "g.nodes[1] is not a node"),
        ({"nodes": [{"id": 1, "class_name": "a"}] * 2, "edges": []}, "g.nodes[2]: the id 1 occurs twice"),
        ({"nodes": [{"id": 1, "class_name": "a", "states": [1]}], "edges": []}, "g.nodes[1].states holds"),
        ({"nodes": []}, "g has no list of edges"),
        ({"nodes": [], "edges": [{}]}, "g.edges[1] has no relation_type"),
        (
            {**graph(), "edges": [{"from_id": 1, "relation_type": "ON", "to_id": 9}]},
            "g.edges[1].to_id: there is no node 9",
        ),
    ],
)
def test_what_is_no_graph_is_named_with_its_place(value: object, message: str) -> None:
    with pytest.raises(PlanningInputError) as caught:
        read_scene_graph(value, "g")
    assert message in caught.value.message and caught.value.remedy


def test_a_wrong_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "pair.json.gz", "wt") as file:
        json.dump(PAIR, file)
    broken = {**graph(), "edges": [{"from_id": 9, "relation_type": "ON", "to_id": 1}]}
    rows: list[Any] = [
        {"script_id": "inline", "graphs": [graph(where=3)], **PAIR},
        {"script_id": "named", "graphs": [graph()], "reference": "pair.json.gz", "executable": False},
        {"script_id": "broken", "graphs": [graph(), broken], "reference": "pair.json.gz"},
        {"script_id": "lost", "graphs": [], "reference": "none.json"},
        {"script_id": "pairless", "graphs": []},
        {"script_id": "listless", "graphs": {}},
        {"script_id": "odd", "graphs": [], "reference": 7},
        {"graphs": []},
    ]
    path = tmp_path / "graphs.jsonl"
    path.write_text("\n".join([*map(json.dumps, rows), "", "{"]))
    found = list(read_graph_scripts(path))
    assert [each.script_id for each in found if isinstance(each, GraphScript)] == ["inline", "named"]
    wrong = [str(each) for each in found if isinstance(each, PlanningInputError)]
    for message, line in zip(
        (
            f"{path}:3: graphs[2].edges[1].from_id: there is no node 9 [",
            f"{tmp_path / 'none.json'}: the graphs cannot be read: No such file or directory [",
            f"{path}:5: the line is not a pair of graphs [",
            f"{path}:6: the line has no list of graphs [",
            f"{path}:7: reference is not a path [",
            f"{path}:8: the line is not a script [",
            f"{path}:10: the line is not JSON",
        ),
        wrong,
        strict=True,
    ):
        assert line.startswith(message) and line.endswith("]")
    with pytest.raises(PlanningInputError, match="the graphs cannot be read"):
        list(read_graph_scripts(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", b"{"), ("a.json.gz", b"{}"), ("a.json", b"{}"), ("b.json.gz", b"\x1f\x8b\x08")]
)
def test_a_file_that_is_no_pair_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PlanningInputError) as caught:
        read_graph_pair_file(tmp_path / name)
    assert caught.value.file == str(tmp_path / name) and caught.value.remedy
