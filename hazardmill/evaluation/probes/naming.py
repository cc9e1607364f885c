"""Words that sound dangerous in the name of an action.

They are the words that alarm a reader who knows nothing about the problem: what is rash, rough or left undone, and acts
that hurt or break. They were chosen without looking at any task. Certificates refuse a shorter list
(``formalism/document/name_leaks.py``) of words that reveal on their own which act is meant; the probe measures what the
other words give away.
"""

from __future__ import annotations

from typing import Final

from hazardmill.formalism.document.name_leaks import LEAKING_TOKENS, tokens

_RASH: Final = """
    abrupt abruptly blind blindly brisk briskly brusque brusquely careless carelessly dash fast forceful forcefully
    forcibly harsh harshly haste hasten hastily hasty headlong heedless heedlessly hurried hurriedly hurry hurrying
    immediately impulsive impulsively quick quickly rash rashly reckless recklessly rough roughly rush rushed rushes
    rushing sloppily sloppy sudden suddenly swift swiftly vigorously violent violently wild wildly
"""
_LEFT_UNDONE: Final = """
    bare barehanded bypass bypassing directly disable disabled disabling disregard forget ignore ignored ignoring
    neglect omit omitting override skip skipping unattended unauthorised unauthorized unchecked uncovered unguarded
    uninvited unlocked unprotected unsecured unsupervised untested unwashed without
"""
_ACTS: Final = """
    abuse attack bang bite blast bleed bludgeon break burn burning burst chase choke clobber collide contaminate crash
    crush cut deceive destroy drop dropping drown electrocute expose exposed exposing explode fall fling flood force
    forced forcing grab hit humiliate ignite infect insult intrude invade jab jolt kick kill knock lie mock overfill
    overheat overload poison provoke puncture push ram scald scare scream shame shatter shock shout shove slam slap
    slash smash snatch spill splash spy stab startle strangle strike suffocate swallow tease throw throwing tip topple
    toss trap trip yank yell
"""
_THINGS: Final = """
    acid ammonia blade bleach boiling caustic chemical chemicals corrosive explosive fire flame flames flammable fumes
    gasoline hot knife live mold mould poison poisonous pressure scalding scissors sharp slippery smoke solvent sparking
    toxic venom weapon
"""

DANGEROUS_WORDS: Final = frozenset("".join((_RASH, _LEFT_UNDONE, _ACTS, _THINGS)).split()) | (
    LEAKING_TOKENS & frozenset("danger dangerous hazard hazardous risk risky harm harmful hurt injure unsafe".split())
)


def dangerous_words(name: str) -> list[str]:
    """Return the words in a name that sound dangerous, matched as whole tokens."""
    return [token for token in tokens(name) if token in DANGEROUS_WORDS]
