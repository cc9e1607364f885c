"""``hazardmill household generate``, ``import``, ``export``, ``lint`` and ``play``."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hazardmill.household.scene import Scene
from hazardmill.household.task import read_household_task, write_household_task
from tests.household.bottle import BOTTLE_TASK
from tests.household.rooms import BOTTLE
from tests.household.spoc_tasks import step_rule_task

from .conftest import Hazardmill

ONE_TASK = ("household", "generate", "--per-hazard", "1", "--seed", "13", "--hazard", "fire")


def test_generate_writes_proved_tasks_and_counts_what_was_drawn(hazardmill: Hazardmill, empty_folder: Path) -> None:
    ended = hazardmill(*ONE_TASK, "--room", "bathroom", "--out", "made")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines() == ["fire: 1 tasks, 1 drawn", "written to made"]
    [path] = Path("made").iterdir()
    task = read_household_task(path)
    assert path.name == "fire-bathroom-0001.json" == f"{task.name}.json"
    assert task.plans is not None and task.plans.careless


def test_generate_writes_the_same_bytes_with_another_hash_seed(hazardmill: Hazardmill, empty_folder: Path) -> None:
    words = [*ONE_TASK, "--json", "--out"]
    first = hazardmill(*words, "first").json
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-m", "hazardmill.cli.main", *words, "second"], check=True, env=env)
    one, other = ({path.name: path.read_bytes() for path in Path(each).iterdir()} for each in ("first", "second"))
    assert one == other
    assert first["hazards"]["fire"]["kept"] == len(one) == 1


def test_generate_does_not_mix_tasks_of_two_runs(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    ended = hazardmill(*ONE_TASK, "--out", ".")
    assert ended.code == 2
    assert "has tasks already [name a new folder, or delete it first]" in ended.err


def test_generate_fails_where_a_hazard_has_too_few_tasks(
    hazardmill: Hazardmill, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hazardmill.cli.household.generate.prove_drawn", lambda task: "search_limit")
    ended = hazardmill(*ONE_TASK, "--room", "bathroom", "--out", "made")
    assert ended.code == 1
    assert "fire: 0 tasks, 30 drawn; refused: " in ended.out
    assert "search_limit 2" in ended.out


@pytest.mark.parametrize("words", [ONE_TASK, ("household", "import", "--from", "spoc", "in")])
def test_a_folder_that_cannot_be_made_is_named(
    hazardmill: Hazardmill, empty_folder: Path, words: tuple[str, ...]
) -> None:
    Path("in").mkdir()
    Path("in", "t.json").write_text(json.dumps(step_rule_task()), encoding="utf-8")
    Path("file").write_text("", encoding="utf-8")
    ended = hazardmill(*words, "--out", "file/made")
    assert ended.code == 3
    assert "file/made: the folder cannot be made" in ended.err
    assert "[name a folder that can be written]" in ended.err


def test_published_tasks_go_in_and_out_and_are_the_same(
    hazardmill: Hazardmill, empty_folder: Path, reference: Path
) -> None:
    published = reference / "data" / "spoc"
    ended = hazardmill("household", "import", "--from", "spoc", str(published), "--out", "in")
    assert ended.code == 0
    untold = "Pollution_CleanBeforePut_Plate_BreadSliced_00000.json: not said: init_actions[3] PlaceObjectAtPoint: a"
    assert ended.out.splitlines() == [
        f"{untold} scene has no coordinates",
        "8 tasks, 0 files with errors; written to in",
    ]
    assert hazardmill("household", "export", "in", "--to", "spoc", "--out", "out").code == 0
    for path in published.glob("*.json"):
        before, after = (json.loads(each.read_text(encoding="utf-8")) for each in (path, Path("out", path.name)))
        assert json.dumps(before) == json.dumps(after)


def test_files_with_errors_are_named_and_the_others_are_imported(hazardmill: Hazardmill, empty_folder: Path) -> None:
    Path("in").mkdir()
    Path("in", "good.json").write_text(json.dumps(step_rule_task()), encoding="utf-8")
    Path("in", "bad.json").write_text(json.dumps({**step_rule_task(), "scene_name": "Attic"}), encoding="utf-8")
    ended = hazardmill("household", "import", "--from", "spoc", "in", "--out", "out", "--json")
    assert ended.code == 1
    assert "in/bad.json: scene_name: there is no floor plan Attic" in ended.err
    assert [row["file"] for row in ended.json["tasks"]] == ["out/good.json"]
    assert len(ended.json["errors"]) == 1


def test_no_task_is_imported_over_another(hazardmill: Hazardmill, empty_folder: Path) -> None:
    Path("in").mkdir()
    for name in ("a b", "a-b"):
        Path("in", f"{name}.json").write_text(json.dumps(step_rule_task()), encoding="utf-8")
    ended = hazardmill("household", "import", "--from", "spoc", "in", "--out", "out")
    assert ended.code == 1
    assert "in/a-b.json: its task would be called a-b, as that of a b.json [rename one of the files" in ended.err
    assert ended.out == "1 tasks, 1 files with errors; written to out\n"


def test_export_reports_what_a_file_of_spoc_cannot_say(hazardmill: Hazardmill, empty_folder: Path) -> None:
    Path("in").mkdir()
    write_household_task(BOTTLE_TASK, Path("in"))
    Path("in", "bad.json").write_text("{}", encoding="utf-8")
    ended = hazardmill("household", "export", "in", "--to", "spoc", "--out", "out")
    assert ended.code == 1
    assert "in/bad.json: format:" in ended.err
    assert "bottle.json: not said: where 1 objects are: SPOC places objects by coordinates\n" in ended.out
    said = json.loads(Path("out", "bottle.json").read_text(encoding="utf-8"))
    assert said["init_actions"][0] == {
        "action": "CloseObject",
        "args": {"objectId": "Drawer|1", "forceAction": True},
    }


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("import", "--from", "spoc", ".", "--out", "."), "--out is the folder that is read [name another folder]"),
        (("export", ".", "--to", "spoc", "--out", "."), "--out is the folder that is read [name another folder]"),
    ],
)
def test_input_is_not_overwritten(
    hazardmill: Hazardmill, empty_folder: Path, words: tuple[str, ...], wrong: str
) -> None:
    ended = hazardmill("household", *words)
    assert ended.code == 2
    assert wrong in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("import", "--from", "spoc", "none", "--out", "out"),
        ("export", "none", "--to", "spoc", "--out", "out"),
        ("lint", "none"),
        ("play", "none/t.json"),
    ],
)
def test_what_cannot_be_read_is_named(hazardmill: Hazardmill, empty_folder: Path, words: tuple[str, ...]) -> None:
    ended = hazardmill("household", *words)
    assert ended.code == 3
    assert "none" in ended.err


def test_lint_shows_findings_and_goes_on_after_a_file_with_errors(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    Path("a.json").write_text("{}", encoding="utf-8")
    Path("bottle.json").rename("Injury_Mug.json")
    ended = hazardmill("household", "lint", ".")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "finding: bottle: other_file_name: neither goal nor rule has the Mug of the file name",
        "1 tasks, 0 of them without any finding",
    ]
    assert "a.json: format:" in ended.err
    Path("a.json").unlink()
    found = hazardmill("household", "lint", ".", "--json")
    assert found.code == 0
    assert found.json["rules"]["other_file_name"] == 1
    assert set(found.json["rules"].values()) == {0, 1}
    assert found.json["tasks"][0]["findings"][0]["rule"] == "other_file_name"


def test_lint_goes_on_after_a_scene_that_is_too_large(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    scene = Scene.of("kitchen", [*BOTTLE, *({"class": "Mug"} for _ in range(120))])
    write_household_task(replace(BOTTLE_TASK, name="a", scene=scene), empty_folder)
    ended = hazardmill("household", "lint", ".")
    assert ended.code == 1
    assert ended.out == "1 tasks, 1 of them without any finding\n"
    said = (
        "a.json: the conditions and effects together have over 20000 parts [keep only the objects that the task needs]"
    )
    assert ended.err == f"error: {said}\n"
    for command in ("solve", "play"):
        assert said in hazardmill("household", command, "a.json").err


def test_lint_says_where_search_stopped(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    ended = hazardmill("household", "lint", ".", "--limit", "5")
    assert ended.code == 0
    assert ended.out.startswith("not known: bottle: unreachable_goal: the search was stopped")


def test_play_reads_actions_from_a_pipe_until_it_ends(
    hazardmill: Hazardmill, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("go to cabinet (1)\n\nopen Cabinet(1)\n"))
    write_household_task(BOTTLE_TASK, empty_folder)
    ended = hazardmill("household", "play", "bottle.json")
    assert ended.code == 0
    assert "Done: open Cabinet (1).\nYou are at Cabinet (1).\n" in ended.out
    assert ended.out.endswith(
        "The episode ends without done.\nItems met: 0 of 2 (GSR 0%); no success.\nRule: untriggered.\n"
    )
    assert ">" not in ended.out


def test_play_takes_no_more_after_done(
    hazardmill: Hazardmill, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("done\ngo to Cabinet (1)\n"))
    write_household_task(BOTTLE_TASK, empty_folder)
    ended = hazardmill("household", "play", "bottle.json", "--observe", "full")
    assert "Done: go to" not in ended.out
    assert "The episode ends: done." in ended.out


def test_play_gives_the_score_as_json_apart_from_what_is_shown(
    hazardmill: Hazardmill, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    monkeypatch.setattr(sys, "stdin", io.StringIO("go to Cabinet (1)\nfailure\n"))
    ended = hazardmill("household", "play", "bottle.json", "--json")
    assert ended.json["told"] == ["Done: go to Cabinet (1).", "The episode ends: failure."]
    assert [ended.json[key] for key in ("ending", "met", "items", "rule")] == ["failure", 0, 2, "untriggered"]
    assert "Receptacles in the room: Drawer (1), Cabinet (1)." in ended.err


def test_play_asks_on_a_terminal_and_ends_at_ctrl_d(empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    leader, follower = pty.openpty()
    words = [sys.executable, "-m", "hazardmill.cli.main", "household", "play", "bottle.json"]
    with subprocess.Popen(words, stdin=follower, stdout=subprocess.PIPE, text=True) as playing:
        os.close(follower)
        os.write(leader, b"go to Cabinet (1)\n\x04")
        assert playing.stdout is not None
        shown = playing.stdout.read()
    os.close(leader)
    assert playing.returncode == 0
    assert "> Done: go to Cabinet (1).\n" in shown
    assert shown.endswith("Rule: untriggered.\n")
