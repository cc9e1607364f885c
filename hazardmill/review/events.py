"""Lines of the files of a review: frozen values that carry the hash of what they say."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, AwareDatetime, StringConstraints

from hazardmill.records import FrozenModel, content_hash

ID_LENGTH: Final = 32
"""Hex digits of SHA-256 that an id keeps."""

Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,38}$")]
"""A reviewer's name: also that of a file, on systems that ignore case too."""
Key = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
Short = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _in_utc(at: AwareDatetime) -> AwareDatetime:
    if at.utcoffset():
        raise ValueError("a time is to be told in UTC")
    return at


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class ReviewEvent(FrozenModel):
    """A line. ``id`` is the hash of everything else in it: one that was altered no longer fits its id."""

    id: str = ""

    def with_id(self) -> Self:
        """The same with its id."""
        return self.model_copy(update={"id": self._hash()})

    @property
    def is_whole(self) -> bool:
        """Whether the id fits."""
        return self.id == self._hash()

    def line(self) -> str:
        """As a line of its file, without the line end."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return self.model_dump(mode="json")

    def _hash(self) -> str:
        return content_hash(self.model_dump(mode="json", exclude={"id"}))[:ID_LENGTH]
