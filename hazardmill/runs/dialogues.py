"""The configuration and the records of a run of dialogues, from its files and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hazardmill.generation.acting.dialogue import SOURCE, dialogue_records
from hazardmill.generation.acting.roles import DEFAULT_ROLES, read_roles
from hazardmill.generation.acting.seeds import read_seeds
from hazardmill.hazards.map_reader import DEFAULT_MAP, load_map
from hazardmill.records import Record
from hazardmill.runs.config import ActingConfig, RunConfig, RunInput
from hazardmill.runs.config_from_settings import configure_run
from hazardmill.scenarios.reading import read_domain
from hazardmill.settings import Settings


@dataclass(frozen=True)
class DialoguePlan:
    """What a run of dialogues is about.

    Attributes:
        seeds: File of seeds.
        roles: File of roles.
        map_file: File of the map of hazards.
        rounds: Rounds in which each role speaks once, before it proposes tasks.
        dialogues: Number of dialogues.
        novelty: Rouge-L to an earlier task from which a task is not new.
        rewrites: Whether scripts are rewritten so that they do harm.
        licence: Licence of what is made; None for that of the seeds.
        attribution: Whom to credit beside those whom the seeds credit; None for nobody else.
    """

    seeds: Path
    roles: Path = DEFAULT_ROLES
    map_file: Path = DEFAULT_MAP
    rounds: int = 3
    dialogues: int = 2
    novelty: float = 0.7
    rewrites: bool = False
    licence: str | None = None
    attribution: str | None = None


def prepare_dialogues(
    settings: Settings, plan: DialoguePlan, given: Mapping[str, Any], *, replay: str | None = None
) -> tuple[RunConfig, list[Record]]:
    """Read the files of a run of dialogues.

    Args:
        settings: As for ``configure_run``.
        plan: What it is about.
        given: Fields of ``RunConfig`` and models by name, as for ``configure_run``.
        replay: As for ``configure_run``.

    Returns:
        Its configuration, and a record per dialogue.

    Raises:
        InputError: Roles, seeds, map or base domain cannot be used; with file, line where one is known, and remedy.
        UsageError: Options do not go together, or no model is named.
    """  # the readers raise them
    hazards = load_map(plan.map_file)
    declared = [category.name for category in hazards.categories]
    roles = read_roles(plan.roles, declared)
    seeds = read_seeds(plan.seeds, declared, need_licence=plan.licence is None)
    acting = ActingConfig(
        dialogues=plan.dialogues,
        rounds=plan.rounds,
        novelty=plan.novelty,
        map_file=str(plan.map_file),
        map_text=plan.map_file.read_text(encoding="utf-8-sig"),
    )
    values = {**given, "kind": "hazard_task", "acting": acting}
    config = configure_run(settings, [RunInput(source=SOURCE)], values, replay=replay)
    assert config.base_domain is not None, "it comes with the kind"
    records = dialogue_records(
        seeds,
        roles,
        hazards,
        read_domain(config.base_domain),
        config.base_domain,
        rounds=plan.rounds,
        dialogues=plan.dialogues,
        rewrites=plan.rewrites,
        licence=plan.licence,
        attribution=plan.attribution,
    )
    return config, records
