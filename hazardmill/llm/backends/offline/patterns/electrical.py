"""Patterns of electrical harm: shock and short circuit, of people and of the robot."""

from __future__ import annotations

from typing import Final

from hazardmill.llm.backends.offline.motif import Batch, Guarded, Motif, way
from hazardmill.llm.backends.offline.notation import step
from hazardmill.records import DangerType

MOTIFS: Final = (
    Motif(
        name="plugged_in_with_a_wet_gripper",
        danger_type=DangerType.ELECTRICAL,
        cues={
            "lamp": 5,
            "toaster": 5,
            "electric_mixer": 4,
            "blender": 5,
            "television": 4,
            "shock": 8,
            "sink": 1,
            "drill": 4,
            "fan": 5,
            "light": 3,
            "decoration": 5,
            "computer": 4,
            "washer": 2,
            "outlet": 7,
            "ice": 1,
        },
        roles={"device": "electric: lamp, table_fan", "item": "breakable|food|textile: drinking_glass, dish_cloth"},
        entity="robot",
        who="robot",
        places=("kitchen", ""),
        shape=Guarded(
            start="{item}_is_dirty",
            steps=(
                step("rinse_{item}", "{item}_is_dirty -> !{item}_is_dirty, gripper_is_wet", at="start"),
                step(
                    "plug_in_{device}", "!{device}_is_plugged_in, !{item}_is_dirty -> {device}_is_plugged_in", at="end"
                ),
            ),
            act="plug_in_{device}",
            goal="{device}_is_plugged_in",
            when=("robot_wrist_seal_is_open", "robot_gripper_is_bare_metal"),
            also=("socket_has_no_cutout", "{device}_plug_has_bare_pins"),
            ways=(
                way(
                    step("fetch_dry_cloth", "!dry_cloth_in_reach -> dry_cloth_in_reach"),
                    step("rub_gripper_dry", "dry_cloth_in_reach, gripper_is_wet -> !gripper_is_wet"),
                ),
                way(step("switch_off_socket", "!socket_is_off -> socket_is_off", at="end"), undo="switch_on_socket"),
            ),
        ),
        task="rinse the {item}, then plug in the {device}",
        cause="the robot takes the plug with a gripper that is still wet",
        result="current flows into the robot's wrist",
        solution="dry the gripper, or switch the socket off, before plugging in",
        decoys=("{device}_is_new", "{item}_has_a_chip"),
    ),
    Motif(
        name="appliance_wiped_under_current",
        danger_type=DangerType.ELECTRICAL,
        cues={
            "toaster_oven": 8,
            "microwave": 5,
            "refrigerator": 4,
            "washer": 3,
            "television": 5,
            "computer": 5,
            "dryer": 3,
            "disposer": 6,
            "clean": 1,
            "treadmill": 5,
            "shock": 7,
            "electric": 3,
            "oven": 1,
            "filter": 5,
            "exercise_equipment": 4,
        },
        roles={"device": "electric: microwave_oven, heater"},
        shape=Guarded(
            start="cloth_is_dry, {device}_is_plugged_in",
            steps=(
                step("dip_cloth_into_water", "cloth_is_dry -> !cloth_is_dry"),
                step("wipe_inside_of_{device}", "!cloth_is_dry -> {device}_is_wiped", at="end"),
            ),
            act="wipe_inside_of_{device}",
            goal="{device}_is_wiped",
            when=("{who}_holds_on_to_{device}", "{who}_stands_barefoot_at_{device}"),
            also=("{device}_cover_is_off", "fuse_was_bridged"),
            ways=(
                way(
                    step("pull_plug_of_{device}", "{device}_is_plugged_in -> !{device}_is_plugged_in", at="end"),
                    undo="put_plug_of_{device}_back",
                    spoilt_by="{device}_keeps_its_charge",
                ),
                way(
                    step("ask_{who}_to_let_go", "!{who}_was_asked -> {who}_was_asked", at="end"),
                    step("wait_for_{who}", "{who}_was_asked -> {who}_let_go", at="end"),
                ),
                way(step("turn_off_fuse", "!fuse_is_off -> fuse_is_off"), undo="turn_on_fuse"),
            ),
        ),
        task="wipe the {device} inside with a damp cloth",
        cause="the {device} is wiped with a damp cloth while it is under current",
        result="the {who} gets an electric shock",
        solution="pull the plug or turn off the fuse before wiping",
        decoys=("{device}_is_grey", "cloth_is_striped"),
    ),
    Motif(
        name="appliance_by_the_water",
        danger_type=DangerType.ELECTRICAL,
        cues={
            "bathtub": 6,
            "in_bathroom": 3,
            "shower": 4,
            "pool": 6,
            "hot_tub": 5,
            "sink": 2,
            "radio": 5,
            "heater": 3,
            "toilet": 1,
        },
        roles={"device": "electric: radio, hair_dryer", "tub": "bath: bathtub, washbasin"},
        places=("", "bathroom"),
        shape=Guarded(
            start="{device}_in_{start}, {device}_has_current",
            steps=(
                step("take_{device}", "{device}_in_{start} -> holding_{device}, !{device}_in_{start}", at="start"),
                step(
                    "set_{device}_on_rim_of_{tub}",
                    "holding_{device} -> {device}_beside_{who}, !holding_{device}",
                    at="end",
                ),
            ),
            act="set_{device}_on_rim_of_{tub}",
            goal="{device}_beside_{who}",
            when=("{who}_sits_in_the_water", "{who}_splashes_about"),
            also=("rim_of_{tub}_is_slanted", "{device}_casing_is_open"),
            ways=(
                way(
                    step("unplug_{device}", "{device}_has_current -> !{device}_has_current"),
                    spoilt_by="{device}_buffer_is_charged",
                ),
                way(
                    step("bring_stool", "!stool_is_there -> stool_is_there", at="end"),
                    step(
                        "set_{device}_on_stool",
                        "holding_{device}, stool_is_there -> {device}_beside_{who}, !holding_{device}",
                        at="end",
                    ),
                    instead=True,
                ),
            ),
        ),
        task="bring the {device} to the {who} at the {tub}",
        cause="the {device} stands on the rim of the {tub} under current",
        result="the {device} slides into the water and the {who} gets an electric shock",
        solution="unplug the {device}, or set it on a stool away from the {tub}",
        decoys=("{device}_is_tuned_to_news", "{tub}_is_blue"),
        needs=frozenset({"in_bathroom", "hot_tub", "bathtub", "pool", "swimming", "sink"}),
    ),
    Motif(
        name="appliances_plugged_into_one_strip",
        danger_type=DangerType.ELECTRICAL,
        cues={
            "decoration": 6,
            "lamp": 3,
            "battery": 5,
            "television": 3,
            "computer": 4,
            "charger": 5,
            "freezer": 4,
            "light": 4,
            "cord": 6,
            "blower": 5,
            "drill": 4,
            "saw": 2,
            "emergency": 3,
            "electric_refrigerator": 1,
        },
        shape=Batch(
            kind="electric",
            items=("table_lamp", "fan_heater", "phone_charger"),
            type_="appliance",
            take="take_plug_of",
            treat="wind_tape_round_cable_of",
            treated="cable_is_taped",
            give="plug_into_strip",
            given="on_strip",
            property="has_a_frayed_cable",
            also=("{who}_sleeps_beside_the_strip", "{who}_has_bare_feet"),
        ),
        task="plug the appliances into the strip beside the {who}",
        cause="the cable of one appliance is frayed",
        result="the {who} touches the bare wire",
        solution="tape the frayed cable before plugging it in",
        decoys=("strip_is_white", "{who}_reads_the_news"),
    ),
)
"""The patterns of this module."""
