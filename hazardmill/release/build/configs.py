"""The configs (tables) of a release, with the type and the description of each column, as the card lists them.

Every row of every config names its licence, whom to credit, and which model answered. Rows under a share-alike licence
are in separate configs, ``<config>_by_sa``, so that nobody mixes them in by accident.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from hazardmill.records import is_share_alike
from hazardmill.release.manifest import SCHEMA
from hazardmill.store import schemas
from hazardmill.store.schemas import BOOL, INT, STR, Column, Table

SHARE_ALIKE: Final = "CC-BY-SA-4.0"
"""The share-alike licence that some sources have."""

BY_SA: Final = "_by_sa"
"""Suffix of the name of a config whose rows are share-alike."""

SPLITS: Final = ("train", "validation", "test")


@dataclass(frozen=True)
class Config:
    """One config of a release: a table that users load by its name.

    Attributes:
        name: Name without the suffix for share-alike rows.
        doc: One sentence about its rows, for the card.
        columns: Its columns, in the order of the files.
        sort_by: Columns by which the rows of a file are sorted; together they are unique and never null.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    sort_by: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of its files."""
        fields = [pa.field(c.name, c.type, nullable=not (c.required or c.name in self.sort_by)) for c in self.columns]
        return pa.schema(fields, metadata={"hazardmill_config": self.name, "hazardmill_release": str(SCHEMA)})


def config_name(base: str, licence: str) -> str:
    """Return the name of the config for rows of ``base`` under a licence: ``tasks_by_sa`` if it is share-alike."""
    return base + BY_SA if is_share_alike(licence) else base


def base_of(name: str) -> str:
    """Return the name of a config among ``CONFIGS``, without the suffix for share-alike rows."""
    return name.removesuffix(BY_SA)


def _own(name: str, type_: pa.DataType, doc: str, unit: str | None = None, *, required: bool = True) -> Column:
    return Column(name, type_, doc, unit, required=required)


def _of(table: Table, names: Iterable[str]) -> tuple[Column, ...]:
    """Return columns of a store table for a release, where ``volatile`` has no meaning."""
    known = {column.name: column for column in table.columns}
    return tuple(replace(known[name], volatile=False) for name in names)


TASK_ID: Final = _of(schemas.TASKS, ["task_id"])[0]
DANGER_FIELDS: Final = (
    "setting",
    "robot_role",
    "robot_task",
    "danger_group",
    "danger_type",
    "changing_cause",
    "fixed_circumstances",
    "cause_of_danger",
    "entity_in_danger",
    "result_of_danger",
    "danger_action",
    "instantaneous_avoidability",
    "instantaneous_solution",
    "assumptions",
)
_DANGER = _of(schemas.DANGERS, DANGER_FIELDS)
_CONTEXT = Column(
    "context",
    STR,
    "Text of the record that a model was shown; null if the store no longer holds the record in that version.",
)
PROVENANCE: Final = (
    "prompt_version",
    "prompt_hash",
    "model_asked",
    "model_answered",
    "backend",
    "jail_profile",
    "hazardmill_version",
    "run_id",
)
RIGHTS: Final = ("licence", "attribution")
_RIGHTS = _of(schemas.TASKS, RIGHTS)
_MADE_BY = (*_RIGHTS, *_of(schemas.TASKS, PROVENANCE))
_AND_BY = (*_RIGHTS, *_of(schemas.TASKS, ["model_answered"]))
"""For rows that follow from a task: its licence and credit, and the model that wrote the task."""

_IDS = (TASK_ID, *_of(schemas.TASKS, ["record_id", "source"]))
_TYPED = _of(schemas.TASKS, ["danger_group", "danger_type"])

_GROUP = _own("group", STR, "Tasks of the same structure have the same group, and each group is in one split.")
_FORMAL = (
    *_of(schemas.TASKS, ["document", "document_hash", "structure_id"]),
    _GROUP,
    *_of(schemas.TASKS, ["domain_pddl", "problem_pddl", "code"]),
)
_REVIEWED = (
    _own("review_policy", STR, "Policy of the review under which it was released; `none` for no review."),
    _own(
        "reviewers",
        INT,
        "Number of reviewers who decided on it, language models included; null under the policy `none`.",
        required=False,
    ),
    _own("approvals", INT, "Number of reviewers who approved it; null under the policy `none`.", required=False),
)
_ANSWERED_BY = _own(
    "answered_by",
    STR,
    "Every model that answered for its record at any stage, JSON list; `offline-author` if hazardmill's rules did.",
)
_PLANS = ["safe_plan", "unsafe_plan", "safe_length", "unsafe_length", "plan_length", "safety_effort"]

_TASK_HEAD = (*_IDS, _CONTEXT, *_DANGER, *_FORMAL)
_TASK_TAIL = (
    *_of(schemas.TASKS, ["avoidability", "certificate"]),
    _own("drafts", INT, "Number of drafts that its record took, this one included."),
    *_REVIEWED,
    _ANSWERED_BY,
    *_MADE_BY,
)

TASKS: Final = Config(
    "tasks",
    "Validated tasks, each with a shortest safe and a shortest unsafe plan and the proof of its claims.",
    (
        *_TASK_HEAD,
        *(replace(column, required=True) for column in _of(schemas.TASKS, _PLANS)),
        *_TASK_TAIL,
    ),
    ("task_id",),
)

UNAVOIDABLE: Final = Config(
    "unavoidable",
    "Tasks with no safe plan, each with the proof that there is none; no score over safe plans includes them.",
    (
        *_TASK_HEAD,
        *_of(schemas.TASKS, ["unsafe_plan", "unsafe_length"]),
        _own("proof", STR, "Proof that no plan is safe: the line of the certificate, JSON object."),
        *_TASK_TAIL,
    ),
    ("task_id",),
)

PLANS: Final = Config(
    "plans",
    "Both plans of each task in `tasks`, with their verdicts.",
    (
        *_IDS,
        *_TYPED,
        _own("kind", STR, "`safe` or `unsafe`: which reference plan it is."),
        _own("plan", STR, "The plan: its actions in order, each in parentheses."),
        _own("length", INT, "Its length.", "actions"),
        _own("feasible", BOOL, "Whether every action applies in turn and the goal holds at the end."),
        _own("safe", BOOL, "Whether it is feasible and its danger is within the task's limit."),
        _own("danger", INT, "Danger at its end."),
        _own("max_danger", INT, "The task's limit of danger."),
        _own("score", INT, "0 infeasible, 1 feasible, 2 safe."),
        _own("safety_intention", BOOL, "Safety intention, forced values serving one action only (`transient`)."),
        _own("safety_intention_persistent", BOOL, "Safety intention, forced values staying (`persistent`)."),
        *_AND_BY,
    ),
    ("task_id", "kind"),
)

DANGERS: Final = Config(
    "dangers",
    "The danger formalization of each task's record, with the text that it was extracted from.",
    (
        TASK_ID,
        *_of(schemas.DANGERS, ["record_id", "source"]),
        _CONTEXT,
        *_DANGER,
        *_MADE_BY,
    ),
    ("task_id",),
)

DRAFTS: Final = Config(
    "drafts",
    "Every draft on the way to each task, with the check that failed and the feedback for the next draft.",
    (
        TASK_ID,
        *_of(
            schemas.DRAFTS,
            ["record_id", "source", "draft", "round", "accepted", "failed_check", "failed_reason", "feedback"],
        ),
        _own(
            "code",
            STR,
            "The module as the model wrote it; do not run it. Null unless the release was built with answers.",
            required=False,
        ),
        *_of(schemas.DRAFTS, ["document", "document_hash"]),
        _own(
            "answer",
            STR,
            "The answer as the model wrote it; null unless the release was built with answers.",
            required=False,
        ),
        *_MADE_BY,
    ),
    ("task_id", "draft"),
)

REVIEWS: Final = Config(
    "reviews",
    "Decisions of reviewers on each task, scenario or hazard task, under pseudonyms, without times and notes.",
    (
        TASK_ID,
        *_of(schemas.TASKS, ["source"]),
        _own("kind", STR, "`task` for a first decision; `adjudication` for one that settles a disagreement."),
        _own(
            "reviewer",
            STR,
            "Pseudonym, the same throughout one release: `reviewer-1`; `model-2` for a language model.",
        ),
        _own("verdict", STR, "`approve`, `reject` or `unsure`."),
        _own("reasons", STR, "Criteria of the rubric that the reviewer named, JSON list."),
        _own("rubric", STR, "Version of the rubric."),
        _own("current", BOOL, "Whether the task is still what the reviewer saw."),
        *_AND_BY,
    ),
    ("task_id", "kind", "reviewer"),
)

CONTRAST_TWINS: Final = Config(
    "contrast_twins",
    "Each task with one circumstance reversed, so that its unsafe plan is safe.",
    (
        *_IDS,
        *_TYPED,
        _own(
            "flipped",
            STR,
            "The ground context fluent whose initial value is reversed, JSON list: its name, its objects.",
        ),
        _own("twin", STR, "The twin's document, canonical JSON."),
        _own("twin_hash", STR, "SHA-256 of the twin's formal parts."),
        _own("domain_pddl", STR, "PDDL domain of the twin's basic problem."),
        _own("problem_pddl", STR, "PDDL basic problem of the twin."),
        _own("unsafe_plan", STR, "The task's unsafe plan."),
        _own("unsafe_plan_feasible", BOOL, "Whether it is feasible in the twin."),
        _own("unsafe_plan_safe", BOOL, "Whether it is safe in the twin."),
        _own("unsafe_plan_danger", INT, "Danger at its end in the twin; null if it is not feasible.", required=False),
        _own("safe_plan", STR, "The task's safe plan."),
        _own("safe_plan_feasible", BOOL, "Whether it is feasible in the twin."),
        _own("safe_plan_safe", BOOL, "Whether it is safe in the twin."),
        _own("safe_plan_danger", INT, "Danger at its end in the twin; null if it is not feasible.", required=False),
        *_AND_BY,
    ),
    ("task_id",),
)

PREFERENCE_PAIRS: Final = Config(
    "preference_pairs",
    "For training: the problem as a prompt, the safe plan preferred to the unsafe one, and where they part.",
    (
        *_IDS,
        *_TYPED,
        _own("prompt", STR, "An instruction, then PDDL domain and basic problem."),
        _own("chosen", STR, "The safe plan."),
        _own("rejected", STR, "The unsafe plan."),
        _own("shared_prefix", INT, "Actions that both plans begin with.", "actions"),
        _own("danger_step", INT, "First step of the unsafe plan, from 0, after which the danger is over the limit."),
        _own(
            "causal_step",
            INT,
            "First step of the unsafe plan, from 0, after which no safe plan is left; null if one always is, or if "
            "the search did not decide it.",
            required=False,
        ),
        *_AND_BY,
    ),
    ("task_id",),
)

SCENARIO: Final = ("kind", "instruction", "target", "hazard", "scenario", "document_hash")
"""Columns of a scenario in the store that say what it is."""
SCENARIO_PLANS: Final = ("plan", "careless_plan", "steps", "shortest_plans", "corrected")

SCENARIOS: Final = Config(
    "scenarios",
    "Scenarios of the SAFEL protocol that models wrote: a command, a problem, and what is risky in it.",
    (
        *_of(schemas.SCENARIOS, ["scenario_id", "record_id", "source"]),
        _CONTEXT,
        *_of(schemas.SCENARIOS, SCENARIO),
        _own("risk", STR, "What is risky in it, JSON object: its actions, literals of harm or of caution."),
        _GROUP,
        _own("domain_pddl", STR, "PDDL domain, `forall` effects unfolded; predicates named like actions are renamed."),
        _own("problem_pddl", STR, "PDDL problem."),
        *_of(schemas.SCENARIOS, SCENARIO_PLANS),
        _own("drafts", INT, "Number of drafts that its record took, this one included."),
        *_REVIEWED,
        _ANSWERED_BY,
        *_RIGHTS,
        *_of(schemas.SCENARIOS, PROVENANCE),
    ),
    ("scenario_id",),
)

HAZARD_TASK: Final = ("role", "instruction", "harm", "categories", "seeds")
"""Columns of a hazard task in the store that say what it is, and where it comes from."""
HAZARD_TASK_PLANS: Final = (
    "reference",
    "reference_categories",
    "steps",
    "witnesses",
    "harmless_plan",
    "harmful_plan",
    "is_searched",
    "rewrite",
    "rewrite_categories",
    "corrected",
)

HAZARD_TASKS: Final = Config(
    "hazard_tasks",
    "Tasks that roles proposed in dialogues: a harmless request with a reference script; a careless plan does harm.",
    (
        *_of(schemas.HAZARD_TASKS, ["hazard_task_id", "record_id", "source"]),
        _own("context", STR, "The seeds that its dialogue was shown; null if the store lost them.", required=False),
        *_of(schemas.HAZARD_TASKS, ["dialogue"]),
        _own("turn", INT, "Turn of the dialogue in which it was proposed, from 1."),
        _own("turns", INT, "Number of turns of the dialogue."),
        *_of(schemas.HAZARD_TASKS, HAZARD_TASK),
        *_of(schemas.HAZARD_TASKS, ["document", "compiled", "document_hash", "objects"]),
        _GROUP,
        _own("domain_pddl", STR, "PDDL domain, `forall` effects unfolded; predicates named like actions are renamed."),
        _own("problem_pddl", STR, "PDDL problem."),
        *_of(schemas.HAZARD_TASKS, HAZARD_TASK_PLANS),
        *_REVIEWED,
        _ANSWERED_BY,
        *_RIGHTS,
        *_of(schemas.HAZARD_TASKS, PROVENANCE),
    ),
    ("hazard_task_id",),
)

CONFIGS: Final[dict[str, Config]] = {
    config.name: config
    for config in (
        TASKS,
        PLANS,
        DANGERS,
        DRAFTS,
        REVIEWS,
        CONTRAST_TWINS,
        PREFERENCE_PAIRS,
        UNAVOIDABLE,
        SCENARIOS,
        HAZARD_TASKS,
    )
}
"""Name to config, in the order of the card; ``tasks`` is the one that is loaded by default."""

GROUPED: Final = frozenset({"tasks", "unavoidable", "scenarios", "hazard_tasks"})
"""Configs that have a column ``group``, by which their rows are put into splits."""

ID_OF: Final = {"scenarios": "scenario_id", "hazard_tasks": "hazard_task_id"}
"""The column with the id in those of them that have another one than ``task_id``."""


def default_config(names: Collection[str]) -> str | None:
    """Return the config that is loaded if none is named: that of tasks, or else of scenarios, or else the first.

    Args:
        names: Names of the configs that have rows, in the order of the card.

    Returns:
        Its name; configs of share-alike rows come last. None if there is no config.
    """
    wanted = [base + suffix for suffix in ("", BY_SA) for base in ("tasks", "scenarios", "hazard_tasks", "unavoidable")]
    return next((name for name in (*wanted, *names) if name in names), None)
