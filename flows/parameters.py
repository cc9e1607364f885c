"""Types of the flows' parameters. They become the schema of a deployment, which the server holds every run to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from hazardmill.ingest.sources import list_sources

if TYPE_CHECKING:
    SourceName = str
else:
    # As they are when the flow is deployed: a source of one's own is among them once it is deployed anew.
    SourceName = Literal[tuple(source.name for source in list_sources())]

Records = Annotated[int, Field(ge=1)]
"""A number of records."""
Usd = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A sum of money."""
LARGEST_BATCH: Final = 50
BatchSize = Annotated[int, Field(ge=1, le=LARGEST_BATCH)]
"""Records a Prefect task: the server writes some rows for each task, and should not have to for each record."""
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Concurrency = Annotated[int, Field(ge=1, le=1000)]
RatePerMinute = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Draw = Annotated[int, Field(ge=0)]
RunName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
"""A name of a run, of a budget."""
ShardText = Annotated[str, Field(pattern=r"^[1-9][0-9]*/[1-9][0-9]*$")]
"""``2/8``: the second of eight parts."""
Address = Annotated[str, Field(pattern=r"^https?://[^\s@?#]+$")]
"""Of an API, with nothing in it that may be a key: the server keeps parameters."""
AuthorFormat = Literal["python", "document"]
