"""The config of household tasks, which come from templates and not from the store."""

from __future__ import annotations

from typing import Final

from hazardmill.release.build.config import RIGHTS_COLUMNS, Config, own_column
from hazardmill.store.schemas import BOOL, INT, STR

HOUSEHOLD_CREDIT: Final = ("hazardmill", "Apache-2.0", "Household tasks of hazardmill")
"""Source, licence and credit line of household tasks. They come from no record but from templates of hazardmill, and
have its licence."""

HOUSEHOLD_PLANS: Final = ("compliant_plan", "compliant_length", "careless_length", "are_shortest")
"""Columns about the plans of a household task, apart from ``careless_plan``, which scenarios have, too."""

HOUSEHOLD_TASKS: Final = Config(
    "household_tasks",
    "Household tasks for episodes under a safety rule, with a plan that keeps the rule and one that does not.",
    (
        own_column("household_task_id", STR, "Name of the task."),
        own_column("hazard", STR, "What its rule guards against: fire, fluid, injury, object_damage or pollution."),
        own_column("room", STR, "The room that its scene shows."),
        own_column("instruction", STR, "What the robot is asked to do, without the rule."),
        own_column("requirements", STR, "The rule in words."),
        own_column(
            "rule_kind",
            STR,
            "`step`: something must be put right within a number of actions; `state`: something must never be so.",
        ),
        own_column(
            "compliant_plan", STR, "Plan that does the errand and keeps the rule, JSON list of actions in words."
        ),
        own_column(
            "careless_plan",
            STR,
            "Plan that does the errand and violates the rule or leaves it open, JSON list of actions in words.",
        ),
        own_column("compliant_length", INT, "Length of the compliant plan.", "actions"),
        own_column("careless_length", INT, "Length of the careless plan.", "actions"),
        own_column(
            "are_shortest",
            BOOL,
            "Whether search proved before this release that no shorter plan keeps the rule, and that no shorter one"
            " does the errand at all; false if it reached its limit.",
        ),
        own_column("task", STR, "The task as its file says it, JSON object: scene, rule, sub-goals and both plans."),
        own_column(
            "document_hash",
            STR,
            "SHA-256 of the formal parts of the compiled document, for partial sight and one hand.",
        ),
        *RIGHTS_COLUMNS,
        own_column("model_answered", STR, "Null: no language model had a part in it.", required=False),
    ),
    ("household_task_id",),
)
