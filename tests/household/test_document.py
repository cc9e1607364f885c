"""Documents of scenes: the worked example of the bottle and the drawer, and the rooms that are shipped."""

from __future__ import annotations

import pytest

from hazardmill.formalism.search.exact import solve
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.document import SceneDocument
from hazardmill.household.scene import ROOMS, Scene, shipped_scene
from tests.household.rooms import BOTTLE, CLOSED, IN_DRAWER


@pytest.mark.parametrize(
    ("observe", "hands", "length", "closed"),
    [("partial", "one", 7, 8), ("full", "one", 7, 8), ("partial", "any", 6, 7), ("full", "any", 6, 7)],
)
def test_the_bottle_and_the_drawer(observe: Observe, hands: Hands, length: int, closed: int) -> None:
    for goal, wanted in ((IN_DRAWER, length), (CLOSED, closed)):
        plan = solve(SceneDocument(Scene.of("kitchen", BOTTLE), observe, hands, goal).system).safe
        assert plan is not None and len(plan) == wanted


def test_the_shortest_plan_opens_the_drawer_while_the_hand_is_empty() -> None:
    solution = solve(SceneDocument(Scene.of("kitchen", BOTTLE), goal=CLOSED).system)
    assert solution.safe_text == (
        "(go_to_place Drawer_1) (open_site Drawer_1) (go_to_place Cabinet_1) (open_site Cabinet_1) "
        "(pick_up_item Bottle_1) (go_to_place Drawer_1) (put_item_into_site Bottle_1 Drawer_1) (close_site Drawer_1)"
    )


def test_being_seen_is_a_fluent_of_partial_documents_only() -> None:
    scene = Scene.of("kitchen", BOTTLE)
    assert "seen" in {fluent.name for fluent in SceneDocument(scene, "partial").document.fluents}
    assert "seen" not in {fluent.name for fluent in SceneDocument(scene, "full").document.fluents}


@pytest.mark.parametrize("hands", ["one", "any"])
@pytest.mark.parametrize("observe", ["partial", "full"])
@pytest.mark.parametrize("room", ROOMS)
def test_a_shipped_room_is_small_enough_to_be_searched(room: str, observe: Observe, hands: Hands) -> None:
    system = SceneDocument(shipped_scene(room), observe, hands).system
    assert len(system.all_actions()) > 100
