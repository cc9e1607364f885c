"""Authors and DOI of a dataset, as settings and releases name them."""

from __future__ import annotations

import re
from typing import Annotated, Final, Self

from pydantic import AfterValidator, model_validator

from hazardmill.records import FrozenModel

_ORCID: Final = re.compile(r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])", re.ASCII)
_DOI: Final = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\d{4,9}/[A-Za-z0-9._;()/:-]+)", re.ASCII)
_LONGEST: Final = 200
"""Maximum number of characters of a name or an affiliation."""


def read_orcid(text: str) -> str:
    """Return an ORCID iD in its plain form, such as ``0000-0002-1825-0097``.

    Args:
        text: The iD, with or without the address ``https://orcid.org/`` before it.

    Raises:
        ValueError: It has another form, or its last character is not its checksum (ISO 7064, MOD 11-2).
    """
    found = _ORCID.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"an ORCID iD is four groups of four digits, as 0000-0002-1825-0097, not {text[:60]!r}")
    digits = found[1].replace("-", "")
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    check = "0123456789X"[(12 - total % 11) % 11]
    if digits[-1] != check:
        raise ValueError(f"{found[1]} is not an ORCID iD: its last character should be {check}, so a digit is mistyped")
    return found[1]


def read_doi(text: str) -> str:
    """Return a DOI in its plain form, such as ``10.5281/zenodo.1234567``.

    Args:
        text: The DOI, with or without ``doi:`` or the address ``https://doi.org/`` before it.

    Raises:
        ValueError: It has another form.
    """
    found = _DOI.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"a DOI is written as 10.5281/zenodo.1234567, not {text[:80]!r}")
    return found[1]


def _read_line(text: str) -> str:
    line = text.strip()
    if not line or len(line) > _LONGEST or not line.isprintable():
        raise ValueError(f"give one line of 1 to {_LONGEST} characters, not {text[:80]!r}")
    return line


Orcid = Annotated[str, AfterValidator(read_orcid)]
Doi = Annotated[str, AfterValidator(read_doi)]
Line = Annotated[str, AfterValidator(_read_line)]


class Author(FrozenModel):
    """An author of a release: a person, or a group.

    Raises:
        ValidationError: A name or an affiliation is empty or not one line, the ORCID iD is wrong, or a group has an
            affiliation or an ORCID iD.
    """

    name: Line
    """Of a person ``Family, Given``; a name without a comma is that of a group."""
    affiliation: Line | None = None
    orcid: Orcid | None = None

    @model_validator(mode="after")
    def _is_person_or_group(self) -> Self:
        if self.is_person and (self.name.count(",") > 1 or not self.family):
            raise ValueError(f"the name of a person is written as 'Family, Given', not {self.name[:80]!r}")
        if not self.is_person and (self.affiliation or self.orcid):
            raise ValueError(
                f"{self.name[:80]!r} has no comma, so it is a group, which has no affiliation and no ORCID iD; "
                "the name of a person is written as 'Family, Given'"
            )
        return self

    @property
    def is_person(self) -> bool:
        """Whether it is a person, and not a group."""
        return "," in self.name

    @property
    def family(self) -> str:
        """Family name of a person."""
        return self.name.partition(",")[0].strip()

    @property
    def given(self) -> str:
        """Given names of a person; empty for who has none, written as ``Name,``."""
        return self.name.partition(",")[2].strip()

    @property
    def spoken(self) -> str:
        """The name as it is spoken: given names first."""
        return f"{self.given} {self.family}".strip() if self.is_person else self.name
