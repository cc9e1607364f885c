"""Constraints in words: ``[PERSON]'s role is 'guest' [AND] noise is 'quiet'``."""

from __future__ import annotations

from typing import Final

_MOST_KEPT: Final = 20_000
_LONGEST_KEPT: Final = 200
"""Atoms remembered, and characters one of them may have: the public file has some thousands, all shorter. Bounded,
so that memory does not grow with the file."""

_KNOWN: Final[dict[str, str]] = {}
"""Known atoms that parse, in words."""


def in_words(constraints: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the atoms of a constraints cell in words, and a warning for each odd one.

    What does not parse is kept as it is: it may still mean something to a reader. What is empty is left out.
    """
    atoms = constraints.split("[AND]")
    try:
        # A row of atoms that all occurred before, as nearly every one is.
        return [_KNOWN[atom] for atom in atoms], ()
    except KeyError:
        return _met_first(atoms)


def _met_first(atoms: list[str]) -> tuple[list[str], tuple[str, ...]]:
    said: list[str] = []
    warnings: list[str] = []
    for atom in atoms:
        text = " ".join(atom.split())
        words = _phrase(text)
        if words is not None:
            said.append(words)
            if len(atom) <= _LONGEST_KEPT and len(_KNOWN) < _MOST_KEPT:
                _KNOWN[atom] = words
        elif text:
            said.append(text)
            warnings.append(f"constraint {text[:80]!r} is not understood and kept as it is")
        else:
            warnings.append("an empty constraint beside an [AND] was left out")
    return said, tuple(warnings)


def _phrase(atom: str) -> str | None:
    """Return one atom in words; null if it is not a name, a relation that begins with "is", and a quoted value."""
    stated, _, quoted = atom.partition(" '")
    name, is_, relation = f"{stated} ".partition(" is ")
    bare = name.removeprefix("[PERSON]'s ").removeprefix("[OTHER]'s ").strip()
    value = quoted[:-1].strip()
    if not (bare and is_ and value and quoted.endswith("'")) or "[" in bare + relation:
        return None
    return f"{stated} {value}".replace("[PERSON]", "the person").replace("[OTHER]", "the other person")
