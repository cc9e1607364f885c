"""Words for distractors: plain household nouns and verbs that say nothing about danger.

Nothing here marks a distractor as one: there is no ``spare``, ``extra`` or ``decoy``. A word is used only in a task
whose names do not contain it yet, so that ``curtain_is_open`` never stands beside the task's own
``curtain_is_drawn``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hazardmill.formalism.document.name_leaks import tokens


@dataclass(frozen=True, slots=True)
class Deeds:
    """Two actions that undo each other, the fluent that they write, and the nouns that they fit.

    Attributes:
        do: Verb of the action that makes the fluent true.
        undo: Verb of the action that makes it false.
        state: What the fluent states.
        nouns: Things that the deeds fit; empty for deeds that fit any object.
    """

    do: str
    undo: str
    state: str
    nouns: tuple[str, ...] = ()


_DEEDS: Final = """
open close is_open: wardrobe letterbox suitcase umbrella biscuit_tin bread_bin parasol sewing_kit pencil_case
stack unstack is_stacked: domino_set coaster_set nesting_bowls chess_pieces
button_up unbutton is_buttoned_up: cardigan pillowcase waistcoat raincoat
braid unbraid is_braided: yarn ribbon twine
fold unfold is_folded: tablecloth newspaper napkin deck_chair road_map
roll_up roll_out is_rolled_up: yoga_mat poster awning star_chart tape_measure
hang_up take_down hangs_up: calendar wreath wind_chime picture_frame garland coat_rack
raise lower is_raised: flag piano_lid music_stand easel ironing_board
cover uncover is_covered: birdcage typewriter harpsichord sculpture loom
fill empty is_filled: bird_feeder fruit_bowl watering_can inkwell sugar_bowl
tilt straighten is_tilted: globe hat_stand telescope armchair rocking_horse
pin_up unpin is_pinned_up: postcard timetable shopping_list recipe concert_ticket
wind_up stop ticks: pendulum_clock metronome egg_timer alarm_clock
tune detune is_tuned: guitar violin harp
frame unframe is_framed: diploma watercolour pressed_flower family_tree
sort shuffle is_sorted: card_deck stamp_album button_jar bookshelf spice_rack
"""

_TYPED_DEEDS: Final = """
point_camera_at turn_camera_from camera_points_at
note_down strike_out is_noted_down
put_label_on peel_label_off has_label
take_stock_of reopen_stock_of is_in_stock_list
sketch erase_sketch_of is_sketched
tick_off untick is_ticked_off
put_bow_on take_bow_off has_bow
log_visit_to clear_visit_to visit_is_logged
survey undo_survey_of is_surveyed
bookmark clear_bookmark_of has_bookmark
"""


def _deeds(line: str) -> Deeds:
    verbs, _, nouns = line.partition(":")
    do, undo, state = verbs.split()
    return Deeds(do, undo, state, tuple(nouns.split()))


DEEDS: Final = tuple(map(_deeds, _DEEDS.strip().splitlines()))
TYPED_DEEDS: Final = tuple(map(_deeds, _TYPED_DEEDS.strip().splitlines()))
"""Deeds that can be done to any object of a type."""

QUALIFIERS: Final = tuple("blue green grey striped wooden tall narrow round painted woven square yellow".split())


@dataclass(frozen=True, slots=True)
class Kind:
    """Objects of one kind: what types that hold them are called, and what they may be called.

    Attributes:
        types: A type whose name contains one of these tokens holds such objects.
        nouns: Names for the objects.
    """

    types: frozenset[str]
    nouns: tuple[str, ...]


KINDS: Final = (
    Kind(
        frozenset("room place location area zone space position spot waypoint".split()),
        tuple(
            "attic pantry veranda library conservatory cloakroom workshop gallery loft greenhouse lounge parlour "
            "boiler_room larder courtyard porch mezzanine alcove".split()
        ),
    ),
    Kind(
        frozenset("surface furniture table shelf support stand counter".split()),
        tuple("sideboard bureau dresser lectern bench windowsill pedestal trolley plinth footstool".split()),
    ),
    Kind(
        frozenset("container receptacle vessel box bin storage".split()),
        tuple("hamper casket trunk satchel urn canister pouch crock bucket tub".split()),
    ),
    Kind(
        frozenset("item thing object objecttype tool utensil parcel document plaything appliance prop good".split()),
        tuple(
            "vase cushion candlestick paperweight teapot stapler sundial kite accordion hourglass doorstop thimble "
            "abacus tambourine magnifier pincushion".split()
        ),
    ),
)
"""Tried in order. Types of people, animals and robots fit none: another person or robot would not be neutral."""


@dataclass(frozen=True, slots=True)
class NewType:
    """A type for tasks whose own types can take no distractor.

    Attributes:
        name: Name of the type.
        relation: Name of a fluent over two of its objects.
        nouns: Names for its objects.
    """

    name: str
    relation: str
    nouns: tuple[str, ...]


NEW_TYPES: Final = (
    NewType(
        "ornament",
        "stands_beside",
        tuple("figurine candlestick snow_globe amphora statuette medallion bust mosaic brooch tapestry".split()),
    ),
    NewType(
        "stationery",
        "lies_next_to",
        tuple("stapler ruler hole_punch eraser notepad compass protractor stencil inkpad paperweight".split()),
    ),
    NewType(
        "houseplant",
        "grows_beside",
        tuple("ficus begonia orchid yucca cyclamen bonsai philodendron geranium calathea peperomia".split()),
    ),
    NewType(
        "instrument",
        "is_stored_with",
        tuple("banjo ukulele oboe tambourine zither lute piccolo harmonica mandolin bassoon".split()),
    ),
)


def kind_of(type_name: str) -> Kind | None:
    """Return what kind of objects a type holds, judging by its name; None where no kind fits."""
    named = set(tokens(type_name))
    return next((kind for kind in KINDS if named & kind.types), None)


def noun_spellings(nouns: tuple[str, ...]) -> Iterator[str]:
    """Yield the nouns, then every noun with every qualifier."""
    yield from nouns
    for qualifier in QUALIFIERS:
        for noun in nouns:
            yield f"{qualifier}_{noun}"
