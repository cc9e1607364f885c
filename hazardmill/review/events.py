"""Lines of a review's files: immutable values that carry a hash of their own content."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, AwareDatetime, StringConstraints

from hazardmill.records import FrozenModel, content_hash

ID_LENGTH: Final = 32
"""Number of hex digits of the SHA-256 that make up an id."""

Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,38}$")]
"""A reviewer's name. It is also a file name, so it is lower case for file systems that ignore case."""
Key = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
Short = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _in_utc(at: AwareDatetime) -> AwareDatetime:
    if at.utcoffset():
        raise ValueError("a time must be in UTC")
    return at


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class ReviewEvent(FrozenModel):
    """One line of a file of the review.

    Attributes:
        id: The first 32 hex digits of the SHA-256 of all other fields as canonical JSON; a line that was altered no
            longer matches its id. Empty before ``with_id``.
    """

    id: str = ""

    def with_id(self) -> Self:
        """Return a copy with its id filled in."""
        return self.model_copy(update={"id": self._hash()})

    @property
    def is_whole(self) -> bool:
        """Whether the id matches the content."""
        return self.id == self._hash()

    def line(self) -> str:
        """Return the event as a line of JSON, without the line end."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))

    def to_json(self) -> dict[str, Any]:
        """Return the event as JSON values."""
        return self.model_dump(mode="json")

    def _hash(self) -> str:
        return content_hash(self.model_dump(mode="json", exclude={"id"}))[:ID_LENGTH]
