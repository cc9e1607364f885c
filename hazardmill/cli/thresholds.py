"""Thresholds of the corpus gates, which several commands take as ``NAME=NUMBER``."""

from __future__ import annotations

import click
from pydantic import ValidationError

from hazardmill.quality.corpus_thresholds import Thresholds


def read_thresholds(settings: tuple[str, ...]) -> Thresholds:
    """Return the thresholds of the corpus gates, with defaults where none is given.

    Args:
        settings: As given on the command line, ``NAME=NUMBER``.

    Raises:
        click.BadParameter: There is no such threshold, or it cannot have that value.
    """
    given: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in Thresholds.model_fields:
            raise click.BadParameter(
                f"{setting!r} is not NAME=NUMBER with NAME one of {', '.join(Thresholds.model_fields)}",
                param_hint="--threshold",
            )
        given[name] = value
    try:
        return Thresholds.model_validate(given)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise click.BadParameter(f"{wrong['loc'][0]}: {wrong['msg']}", param_hint="--threshold") from error
