"""The groups of commands, noun first, then verb. A command's module is imported only when the command is called."""

from __future__ import annotations

import click

from hazardmill.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    addresses={
        "abilities": (
            "hazardmill.cli.evaluate.abilities:abilities",
            "Test the abilities that safe planning needs, without a judge.",
        ),
        "difficulty": (
            "hazardmill.cli.evaluate.difficulty:difficulty",
            "Measure how hard tasks are, for models and intrinsically.",
        ),
        "episodes": (
            "hazardmill.cli.evaluate.episodes:episodes",
            "Have a model act in household tasks, step by step, under a rule.",
        ),
        "report": (
            "hazardmill.cli.evaluate.report:report",
            "Write a report with figures, and a leaderboard.",
        ),
        "run": ("hazardmill.cli.evaluate.run:run", "Ask a language model for plans, and score them."),
        "safel": (
            "hazardmill.cli.evaluate.safel:safel",
            "Test refusal of harmful commands, and planning under risk.",
        ),
        "safety": (
            "hazardmill.cli.evaluate.safety:safety",
            "Measure the harm that agents do or leave, and their success.",
        ),
        "score": ("hazardmill.cli.evaluate.run:score", "Score plans or answers from a file, without asking a model."),
        "stats": (
            "hazardmill.cli.evaluate.stats:stats",
            "Compare models: scaling, correlations, effects of thinking.",
        ),
    },
    epilog="Example: hazardmill evaluate score --release releases/hazardmill-1.0.0 --plans plans.jsonl",
)
def evaluate() -> None:
    """Score planners on a release, and show where they fail. No model acts as a judge."""


@click.group(
    cls=LazyGroup,
    addresses={
        "collect": (
            "hazardmill.cli.scenario.collect:collect",
            "Write the accepted scenarios of a run as files.",
        ),
        "correct": (
            "hazardmill.cli.scenario.scenario:correct",
            "Mend each scenario of DIR by fixed rules.",
        ),
        "derive": (
            "hazardmill.cli.scenario.derive:derive",
            "Derive a scenario from each task of a release.",
        ),
        "export": (
            "hazardmill.cli.scenario.scenario:export",
            "Write PDDL and risk.json of each scenario of DIR.",
        ),
        "import": (
            "hazardmill.cli.scenario.scenario:import_",
            "Import problems of a PDDL domain as scenarios, well formed or not.",
        ),
        "verify": (
            "hazardmill.cli.scenario.scenario:verify",
            "Check each scenario of DIR: what it declares, its plans, its risk.",
        ),
    },
    epilog="Example: hazardmill scenario verify scenarios",
)
def scenario() -> None:
    """Make and check scenarios of the SAFEL protocol: harmful commands, or harmless ones in risky circumstances."""


@click.group(
    cls=LazyGroup,
    addresses={
        "check": (
            "hazardmill.cli.hazards.hazards:check",
            "Show what a map of hazards maps, and which rules never apply.",
        ),
        "compile": (
            "hazardmill.cli.hazards.hazards:compile_",
            "Write a map of hazards into a task.",
        ),
        "detect": (
            "hazardmill.cli.hazards.hazards:detect",
            "Find the harm that plans do on the way or leave behind.",
        ),
        "rewrites": (
            "hazardmill.cli.hazards.rewrites:rewrites",
            "Let people judge the scripts that a model rewrote to do harm.",
        ),
        "seeds": (
            "hazardmill.cli.hazards.seeds:seeds",
            "Find the tasks in which an agent did harm.",
        ),
    },
    epilog="Example: hazardmill hazards check default",
)
def hazards() -> None:
    """Find harm that plans do on the way or leave behind, by an editable map from actions and facts to categories."""


@click.group(
    cls=LazyGroup,
    addresses={
        "export": (
            "hazardmill.cli.household.spoc:export",
            "Export the household tasks of DIR as task files of SPOC.",
        ),
        "generate": (
            "hazardmill.cli.household.generate:generate",
            "Generate household tasks whose rule a careless plan breaks.",
        ),
        "import": (
            "hazardmill.cli.household.spoc:import_",
            "Import the task files of a folder as household tasks.",
        ),
        "lint": (
            "hazardmill.cli.household.lint:lint",
            "Show what looks wrong in the household tasks of DIR.",
        ),
        "play": (
            "hazardmill.cli.household.play:play",
            "Play a household task, action by action.",
        ),
        "solve": (
            "hazardmill.cli.household.solve:solve",
            "Find a shortest plan that keeps the rule, and one that breaks it.",
        ),
    },
    epilog="Example: hazardmill household generate --per-hazard 5 --seed 0 --out household",
)
def household() -> None:
    """Make and play household tasks, planned step by step under safety rules, after the SPOC paper."""


@click.group(
    cls=LazyGroup,
    addresses={
        "build": (
            "hazardmill.cli.release.build:build",
            "Build a versioned dataset from the tasks of a store.",
        ),
        "diff": ("hazardmill.cli.release.diff:diff", "Show how two releases differ."),
        "export": ("hazardmill.cli.release.export:export", "Write a release as training data for planners."),
        "push": ("hazardmill.cli.release.push:push", "Publish a release on a dataset hub, in one commit and one tag."),
    },
    epilog="Example: hazardmill release build --version 1.0.0",
)
def release() -> None:
    """Build, compare, publish and export versioned datasets of tasks."""


@click.group(
    cls=LazyGroup,
    addresses={
        "assign": (
            "hazardmill.cli.review.review:assign",
            "Assign tasks, scenarios and hazard tasks to reviewers.",
        ),
        "export": (
            "hazardmill.cli.review.review:export",
            "Write decisions and undos to FILE, as CSV or JSON lines.",
        ),
        "import": ("hazardmill.cli.review.review:import_", "Import decisions made elsewhere."),
        "record": (
            "hazardmill.cli.review.review:record",
            "Record what language models decided, to ship with answers.",
        ),
        "serve": (
            "hazardmill.cli.review.serve:serve",
            "Serve the web app for reviewing: one task per screen, by keyboard.",
        ),
        "stats": (
            "hazardmill.cli.review.review:stats",
            "Print rates, agreement and times, and compare judge and people.",
        ),
        "token": (
            "hazardmill.cli.review.serve:token",
            "Make a token for a reviewer, and print it.",
        ),
        "unblind": (
            "hazardmill.cli.review.review:unblind",
            "Show reviewers what others and the judge decided, from now on.",
        ),
    },
    epilog="Example: hazardmill review stats --store demo-out/store",
)
def review() -> None:
    """Assign tasks, scenarios and hazard tasks to reviewers, collect their decisions, and report the figures."""


@click.group(
    cls=LazyGroup,
    addresses={
        "acting": (
            "hazardmill.cli.run.acting:acting",
            "Let roles discuss seeds of harm, and propose tasks about them.",
        ),
        "batch": (
            "hazardmill.cli.run.batch:batch",
            "List the batches of all runs, or settle what became of one.",
        ),
        "compare": (
            "hazardmill.cli.run.compare:compare",
            "Compare two runs that differ in prompt, model or format.",
        ),
        "estimate": (
            "hazardmill.cli.run.estimate:estimate",
            "Estimate what `run generate` with these options will ask and cost.",
        ),
        "export": (
            "hazardmill.cli.run.export:export",
            "Print the recipe of a run, to make it again with `run generate`.",
        ),
        "generate": ("hazardmill.cli.run.generate:generate", "Turn records of one or more sources into tasks."),
        "list": (
            "hazardmill.cli.run.list:list_runs",
            "List the runs of a store, oldest first, with outcomes and cost.",
        ),
        "preview": (
            "hazardmill.cli.run.preview:preview",
            "Show step by step what `run generate` makes of the first records.",
        ),
        "recheck": (
            "hazardmill.cli.run.recheck:recheck",
            "Execute drafts of runs again, and compare with the store.",
        ),
        "record": (
            "hazardmill.cli.run.record:record",
            "Record the answers of runs, to run again without a model.",
        ),
        "resume": (
            "hazardmill.cli.run.resume:resume",
            "Resume a run that was stopped or killed; nothing is paid twice.",
        ),
    },
    epilog="Example: hazardmill run list",
)
def run() -> None:
    """Generate tasks: estimate, preview, generate, resume, list, compare, export and recheck runs; list batches."""


@click.group(
    cls=LazyGroup,
    addresses={
        "check": (
            "hazardmill.cli.sources.check:check",
            "Check that a source does what every source must do.",
        ),
        "fetch": (
            "hazardmill.cli.sources.sources:fetch",
            "Download the files of a source, and check size and SHA-256.",
        ),
        "list": (
            "hazardmill.cli.sources.sources:list_all",
            "List the sources, and which inputs are already here.",
        ),
        "new": (
            "hazardmill.cli.sources.new:new",
            "Write a project with a source of your own, to be adapted.",
        ),
        "preview": (
            "hazardmill.cli.sources.preview:preview",
            "Show the first records of an input, and what is rejected.",
        ),
        "show": (
            "hazardmill.cli.sources.sources:show",
            "Show a source: licence, origin, facts for --where, and files.",
        ),
    },
    epilog="Example: hazardmill sources list",
)
def sources() -> None:
    """List, describe, write and check the sources of records, and download their files."""


@click.group(
    cls=LazyGroup,
    addresses={
        "compact": (
            "hazardmill.cli.store:compact",
            "Merge many small parts into a few large ones; no digest changes.",
        ),
        "copy": (
            "hazardmill.cli.store:copy",
            "Copy a store between folders and buckets (s3://bucket/prefix).",
        ),
        "digest": (
            "hazardmill.cli.store:digest",
            "Print a hash per table, equal for runs with equal results.",
        ),
        "export": (
            "hazardmill.cli.store:export",
            "Write a snapshot of a store as Parquet, Delta tables or DuckLake.",
        ),
        "rebuild": (
            "hazardmill.cli.store:rebuild",
            "Quarantine damaged files, and restore the store as far as possible.",
        ),
        "verify": (
            "hazardmill.cli.store:verify",
            "Check that all files are intact and no required row is missing.",
        ),
    },
    epilog="Example: hazardmill store verify --store demo-out/store",
)
def store() -> None:
    """Verify, hash, copy, export, compact or rebuild a store."""


@click.group(
    cls=LazyGroup,
    addresses={
        "certify": ("hazardmill.cli.task.certify:certify", "Prove what can be proved about a task, claim by claim."),
        "check": (
            "hazardmill.cli.task.check:check",
            "Run the code of tasks in the jail, with all execution checks.",
        ),
        "export": ("hazardmill.cli.task.export:export", "Export a task as PDDL, or tasks as DESPITE folders."),
        "import": (
            "hazardmill.cli.task.import_:import_",
            "Import tasks from PDDL with dangers, or from DESPITE folders.",
        ),
        "lint": ("hazardmill.cli.task.lint:lint", "Count problems across many tasks, by rule, with examples."),
        "repair": (
            "hazardmill.cli.task.repair:repair",
            "Find the smallest change that makes a plan safe, or feasible.",
        ),
        "solve": (
            "hazardmill.cli.task.solve:solve",
            "Find the shortest safe and unsafe plans, or prove there are none.",
        ),
        "validate": (
            "hazardmill.cli.task.validate:validate",
            "Judge whether plans are feasible and safe, and explain why not.",
        ),
        "verify": (
            "hazardmill.cli.task.verify:verify",
            "Check that all parts of each task agree with one another.",
        ),
    },
    epilog="Example: hazardmill task solve demo-out/tasks/TASK",
)
def task() -> None:
    """Check, judge, solve, certify, verify, repair, lint, import and export tasks."""
