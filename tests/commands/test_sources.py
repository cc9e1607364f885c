from __future__ import annotations

from hazardmill.stages.sources import list_sources

from .conftest import Hazardmill


def test_list_names_every_source(hazardmill: Hazardmill) -> None:
    listed = hazardmill("sources", "list", "--json").json
    assert listed == [{"name": s.name, "title": s.title, "licence": s.licence} for s in list_sources()]
    assert {"neiss", "bddl"} <= {source["name"] for source in listed}
    lines = hazardmill("sources", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == [source["name"] for source in listed]


def test_show_tells_where_a_source_comes_from(hazardmill: Hazardmill) -> None:
    shown = hazardmill("sources", "show", "bddl", "--json").json
    assert shown["licence"] == "MIT" and shown["address"].startswith("https:") and shown["attribution"]
    for line in hazardmill("sources", "show", "bddl").out.splitlines():
        name, _, value = line.partition(": ")
        assert shown[name] == value


def test_an_unknown_source_is_bad_input(hazardmill: Hazardmill) -> None:
    ended = hazardmill("sources", "show", "nope")
    assert ended.code == 3
    assert "no source 'nope'" in ended.err and "bddl, neiss" in ended.err
