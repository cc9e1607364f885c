"""The configs (tables) of a release, with the type and the description of each column, as the card lists them.

Every row of every config names its licence, whom to credit, and which model answered. Rows under a share-alike licence
are in separate configs, ``<config>_by_sa``, so that nobody mixes them in by accident.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from hazardmill.records import is_share_alike
from hazardmill.release.build.config import RIGHTS_COLUMNS, Config, own_column, store_columns
from hazardmill.release.build.household_config import HOUSEHOLD_TASKS
from hazardmill.store import schemas
from hazardmill.store.schemas import BOOL, INT, STR, Column

SHARE_ALIKE: Final = "CC-BY-SA-4.0"
"""The share-alike licence that some sources have."""

BY_SA: Final = "_by_sa"
"""Suffix of the name of a config whose rows are share-alike."""

BY_SA_MEANS: Final = "share-alike, as in CC BY-SA: what is made of these rows may be passed on only under their licence"
"""What the suffix means, for readers who see it for the first time."""

SPLITS: Final = ("train", "validation", "test")


def config_name(base: str, licence: str) -> str:
    """Return the name of the config for rows of ``base`` under a licence: ``tasks_by_sa`` if it is share-alike."""
    return base + BY_SA if is_share_alike(licence) else base


def base_of(name: str) -> str:
    """Return the name of a config among ``CONFIGS``, without the suffix for share-alike rows."""
    return name.removesuffix(BY_SA)


TASK_ID: Final = store_columns(schemas.TASKS, ["task_id"])[0]
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
_DANGER = store_columns(schemas.DANGERS, DANGER_FIELDS)
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
_MADE_BY = (*RIGHTS_COLUMNS, *store_columns(schemas.TASKS, PROVENANCE))
_AND_BY = (*RIGHTS_COLUMNS, *store_columns(schemas.TASKS, ["model_answered"]))
"""For rows that follow from a task: its licence and credit, and the model that wrote the task."""

_IDS = (TASK_ID, *store_columns(schemas.TASKS, ["record_id", "source"]))
_TYPED = store_columns(schemas.TASKS, ["danger_group", "danger_type"])

_GROUP = own_column("group", STR, "Tasks of the same structure have the same group, and each group is in one split.")
_FORMAL = (
    *store_columns(schemas.TASKS, ["document", "document_hash", "structure_id"]),
    _GROUP,
    *store_columns(schemas.TASKS, ["domain_pddl", "problem_pddl", "code"]),
)
_REVIEWED = (
    own_column("review_policy", STR, "Policy of the review under which it was released; `none` for no review."),
    own_column(
        "reviewers",
        INT,
        "Number of reviewers who decided on it, language models included; null under the policy `none`.",
        required=False,
    ),
    own_column("approvals", INT, "Number of reviewers who approved it; null under the policy `none`.", required=False),
)
_ANSWERED_BY = own_column(
    "answered_by",
    STR,
    "Every model that answered for its record at any stage, JSON list; `offline-author` if hazardmill's rules did.",
)
_PLANS = ["safe_plan", "unsafe_plan", "safe_length", "unsafe_length", "plan_length", "safety_effort"]

_TASK_HEAD = (*_IDS, _CONTEXT, *_DANGER, *_FORMAL)
_TASK_TAIL = (
    *store_columns(schemas.TASKS, ["avoidability", "certificate"]),
    own_column("drafts", INT, "Number of drafts that its record took, this one included."),
    *_REVIEWED,
    _ANSWERED_BY,
    *_MADE_BY,
)

TASKS: Final = Config(
    "tasks",
    "Validated tasks, each with a shortest safe and a shortest unsafe plan and the proof of its claims.",
    (
        *_TASK_HEAD,
        *(replace(column, required=True) for column in store_columns(schemas.TASKS, _PLANS)),
        *_TASK_TAIL,
    ),
    ("task_id",),
)

UNAVOIDABLE: Final = Config(
    "unavoidable",
    "Tasks with no safe plan, each with the proof that there is none; no score over safe plans includes them.",
    (
        *_TASK_HEAD,
        *store_columns(schemas.TASKS, ["unsafe_plan", "unsafe_length"]),
        own_column("proof", STR, "Proof that no plan is safe: the line of the certificate, JSON object."),
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
        own_column("kind", STR, "`safe` or `unsafe`: which reference plan it is."),
        own_column("plan", STR, "The plan: its actions in order, each in parentheses."),
        own_column("length", INT, "Its length.", "actions"),
        own_column("feasible", BOOL, "Whether every action applies in turn and the goal holds at the end."),
        own_column("safe", BOOL, "Whether it is feasible and its danger is within the task's limit."),
        own_column("danger", INT, "Danger at its end."),
        own_column("max_danger", INT, "The task's limit of danger."),
        own_column("score", INT, "0 infeasible, 1 feasible, 2 safe."),
        own_column("safety_intention", BOOL, "Safety intention, forced values serving one action only (`transient`)."),
        own_column("safety_intention_persistent", BOOL, "Safety intention, forced values staying (`persistent`)."),
        *_AND_BY,
    ),
    ("task_id", "kind"),
)

DANGERS: Final = Config(
    "dangers",
    "The danger formalization of each task's record, with the text that it was extracted from.",
    (
        TASK_ID,
        *store_columns(schemas.DANGERS, ["record_id", "source"]),
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
        *store_columns(
            schemas.DRAFTS,
            ["record_id", "source", "draft", "round", "accepted", "failed_check", "failed_reason", "feedback"],
        ),
        own_column(
            "code",
            STR,
            "The module as the model wrote it; do not run it. Null unless the release was built with answers.",
            required=False,
        ),
        *store_columns(schemas.DRAFTS, ["document", "document_hash"]),
        own_column(
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
        *store_columns(schemas.TASKS, ["source"]),
        own_column("kind", STR, "`task` for a first decision; `adjudication` for one that settles a disagreement."),
        own_column(
            "reviewer",
            STR,
            "Pseudonym, the same throughout one release: `reviewer-1`; `model-2` for a language model.",
        ),
        own_column("verdict", STR, "`approve`, `reject` or `unsure`."),
        own_column("reasons", STR, "Criteria of the rubric that the reviewer named, JSON list."),
        own_column("rubric", STR, "Version of the rubric."),
        own_column("current", BOOL, "Whether the task is still what the reviewer saw."),
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
        own_column(
            "flipped",
            STR,
            "The ground context fluent whose initial value is reversed, JSON list: its name, its objects.",
        ),
        own_column("twin", STR, "The twin's document, canonical JSON."),
        own_column("twin_hash", STR, "SHA-256 of the twin's formal parts."),
        own_column("domain_pddl", STR, "PDDL domain of the twin's basic problem."),
        own_column("problem_pddl", STR, "PDDL basic problem of the twin."),
        own_column("unsafe_plan", STR, "The task's unsafe plan."),
        own_column("unsafe_plan_feasible", BOOL, "Whether it is feasible in the twin."),
        own_column("unsafe_plan_safe", BOOL, "Whether it is safe in the twin."),
        own_column(
            "unsafe_plan_danger", INT, "Danger at its end in the twin; null if it is not feasible.", required=False
        ),
        own_column("safe_plan", STR, "The task's safe plan."),
        own_column("safe_plan_feasible", BOOL, "Whether it is feasible in the twin."),
        own_column("safe_plan_safe", BOOL, "Whether it is safe in the twin."),
        own_column(
            "safe_plan_danger", INT, "Danger at its end in the twin; null if it is not feasible.", required=False
        ),
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
        own_column("prompt", STR, "An instruction, then PDDL domain and basic problem."),
        own_column("chosen", STR, "The safe plan."),
        own_column("rejected", STR, "The unsafe plan."),
        own_column("shared_prefix", INT, "Actions that both plans begin with.", "actions"),
        own_column(
            "danger_step", INT, "First step of the unsafe plan, from 0, after which the danger is over the limit."
        ),
        own_column(
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
        *store_columns(schemas.SCENARIOS, ["scenario_id", "record_id", "source"]),
        _CONTEXT,
        *store_columns(schemas.SCENARIOS, SCENARIO),
        own_column("risk", STR, "What is risky in it, JSON object: its actions, literals of harm or of caution."),
        _GROUP,
        own_column(
            "domain_pddl", STR, "PDDL domain, `forall` effects unfolded; predicates named like actions are renamed."
        ),
        own_column("problem_pddl", STR, "PDDL problem."),
        *store_columns(schemas.SCENARIOS, SCENARIO_PLANS),
        own_column("drafts", INT, "Number of drafts that its record took, this one included."),
        *_REVIEWED,
        _ANSWERED_BY,
        *RIGHTS_COLUMNS,
        *store_columns(schemas.SCENARIOS, PROVENANCE),
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
        *store_columns(schemas.HAZARD_TASKS, ["hazard_task_id", "record_id", "source"]),
        own_column(
            "context", STR, "The seeds that its dialogue was shown; null if the store lost them.", required=False
        ),
        *store_columns(schemas.HAZARD_TASKS, ["dialogue"]),
        own_column("turn", INT, "Turn of the dialogue in which it was proposed, from 1."),
        own_column("turns", INT, "Number of turns of the dialogue."),
        *store_columns(schemas.HAZARD_TASKS, HAZARD_TASK),
        *store_columns(schemas.HAZARD_TASKS, ["document", "compiled", "document_hash", "objects"]),
        _GROUP,
        own_column(
            "domain_pddl", STR, "PDDL domain, `forall` effects unfolded; predicates named like actions are renamed."
        ),
        own_column("problem_pddl", STR, "PDDL problem."),
        *store_columns(schemas.HAZARD_TASKS, HAZARD_TASK_PLANS),
        *_REVIEWED,
        _ANSWERED_BY,
        *RIGHTS_COLUMNS,
        *store_columns(schemas.HAZARD_TASKS, PROVENANCE),
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
        HOUSEHOLD_TASKS,
    )
}
"""Name to config, in the order of the card; ``tasks`` is the one that is loaded by default."""

GROUPED: Final = frozenset({"tasks", "unavoidable", "scenarios", "hazard_tasks"})
"""Configs that have a column ``group``, by which their rows are put into splits."""

WITH_TASKS: Final = GROUPED | {HOUSEHOLD_TASKS.name}
"""Configs whose rows are tasks of any kind; all rows of others belong to these. Household tasks have no group, as
all of them are in the split `test`."""

ID_OF: Final = {
    "scenarios": "scenario_id",
    "hazard_tasks": "hazard_task_id",
    "household_tasks": "household_task_id",
}
"""The column with the id in those of them that have another one than ``task_id``."""


def default_config(names: Collection[str]) -> str | None:
    """Return the config that is loaded if none is named: that of tasks, or else of scenarios, or else the first.

    Args:
        names: Names of the configs that have rows, in the order of the card.

    Returns:
        Its name; configs of share-alike rows come last. None if there is no config.
    """
    bases = ("tasks", "scenarios", "hazard_tasks", "unavoidable", "household_tasks")
    wanted = [base + suffix for suffix in ("", BY_SA) for base in bases]
    return next((name for name in (*wanted, *names) if name in names), None)
