"""The groups of commands: noun first, then verb. A command's module is imported when the command is called."""

from __future__ import annotations

import click

from hazardmill.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    addresses={
        "abilities": (
            "hazardmill.cli.evaluate.abilities:abilities",
            "Ask what planning safely takes, apart from planning, and score the answers without a judge.",
        ),
        "difficulty": (
            "hazardmill.cli.evaluate.difficulty:difficulty",
            "Say which tasks are difficult: for a panel of models, and by themselves.",
        ),
        "report": (
            "hazardmill.cli.evaluate.report:report",
            "Write report.html, report.md with its figures, leaderboard.json and leaderboard.md.",
        ),
        "run": ("hazardmill.cli.evaluate.run:run", "Ask a language model for plans, and score them."),
        "score": ("hazardmill.cli.evaluate.run:score", "Score plans or answers in a file: no model is asked."),
        "stats": (
            "hazardmill.cli.evaluate.stats:stats",
            "Print what scores of models say together: scaling, correlations, shifts, thinking against base.",
        ),
    },
    epilog="Example: hazardmill evaluate score --release releases/1.0.0 --plans plans.jsonl",
)
def evaluate() -> None:
    """Score what planners make of a release, and say why they fail. No model judges anything."""


@click.group(
    cls=LazyGroup,
    addresses={
        "build": (
            "hazardmill.cli.release.build:build",
            "Make a versioned dataset of the store: Parquet, task folders, card, manifest.",
        ),
        "diff": ("hazardmill.cli.release.diff:diff", "Tell what two releases differ in."),
        "export": ("hazardmill.cli.release.export:export", "Write what planners are trained on."),
        "push": ("hazardmill.cli.release.push:push", "Put a release on a hub, in one commit and one tag."),
    },
    whole_lines=True,
    epilog="Example: hazardmill release build --version 1.0.0",
)
def release() -> None:
    """Build datasets of tasks, compare them, put them on a hub, and make training data of them."""


@click.group(
    cls=LazyGroup,
    addresses={
        "assign": (
            "hazardmill.cli.review.review:assign",
            "Give out tasks: stratified by source and danger type, balanced, what was given out stays as it is.",
        ),
        "export": (
            "hazardmill.cli.review.review:export",
            "Write decisions, undos among them, into FILE: CSV or JSON lines, as its name says.",
        ),
        "import": ("hazardmill.cli.review.review:import_", "Take in decisions made elsewhere."),
        "record": (
            "hazardmill.cli.review.review:record",
            "Record what language models decided on the tasks of a store, to lie beside recorded answers.",
        ),
        "serve": (
            "hazardmill.cli.review.serve:serve",
            "Serve the web app in which people review, one task a screen, by keyboard.",
        ),
        "stats": (
            "hazardmill.cli.review.review:stats",
            "Print rates, agreement, times, and the judge beside people; --json has the ids of accepted tasks too.",
        ),
        "token": (
            "hazardmill.cli.review.serve:token",
            "Make a token for a reviewer, in place of an old one, and print it: it is kept as a hash and told only "
            "now.",
        ),
        "unblind": (
            "hazardmill.cli.review.review:unblind",
            "Let reviewers see what others and the judge said, from now on.",
        ),
    },
    epilog="Example: hazardmill review stats --store demo-out/store",
)
def review() -> None:
    """Give tasks to reviewers, take in what they decide, and see the figures."""


@click.group(
    cls=LazyGroup,
    addresses={
        "compare": (
            "hazardmill.cli.run.compare:compare",
            "Compare two runs on the same records, say by other prompts, another model or format.",
        ),
        "estimate": (
            "hazardmill.cli.run.estimate:estimate",
            "Say what `run generate` with these options will ask and cost: low, expected, high.",
        ),
        "generate": ("hazardmill.cli.run.generate:generate", "Turn records of one or more sources into tasks."),
        "list": (
            "hazardmill.cli.run.list:list_runs",
            "List the runs of a store, oldest first: state, outcomes so far, what each paid itself, duration, parent.",
        ),
        "preview": (
            "hazardmill.cli.run.preview:preview",
            "Show what `run generate` with these options makes of the first records, step by step.",
        ),
        "recheck": (
            "hazardmill.cli.run.recheck:recheck",
            "Execute the drafts of runs again, and compare every verdict and proof with what the store says.",
        ),
        "record": (
            "hazardmill.cli.run.record:record",
            "Record the answers of runs, so that the same records can be run again without a model.",
        ),
        "resume": (
            "hazardmill.cli.run.resume:resume",
            "Go on with a run that was stopped or killed; what is done or paid for is not done again.",
        ),
    },
    epilog="Example: hazardmill run list",
)
def run() -> None:
    """Estimate what a run costs, preview it; generate tasks; resume, list, compare, record runs; check drafts again."""


@click.group(
    cls=LazyGroup,
    addresses={
        "fetch": (
            "hazardmill.cli.sources:fetch",
            "Download the files of a source, as its SOURCE.md gives them, checking size and SHA-256 where published.",
        ),
        "list": (
            "hazardmill.cli.sources:list_all",
            "List the sources this installation finds, and what of them is here already.",
        ),
        "show": (
            "hazardmill.cli.sources:show",
            "Show one source: licence, where it comes from, what --where can select by, and the files to fetch.",
        ),
    },
    epilog="Example: hazardmill sources list",
)
def sources() -> None:
    """List and describe the sources, and fetch their files."""


@click.group(
    cls=LazyGroup,
    addresses={
        "compact": (
            "hazardmill.cli.store:compact",
            "Make few large parts of many small ones; runs and readers may go on meanwhile, and no digest changes.",
        ),
        "copy": (
            "hazardmill.cli.store:copy",
            "Copy a store between folders and buckets (s3://bucket/prefix); done again, a copy that was cut short "
            "goes on.",
        ),
        "digest": (
            "hazardmill.cli.store:digest",
            "Print a hash a table: equal for equal runs, whatever their ids and times, killed and resumed or not.",
        ),
        "rebuild": (
            "hazardmill.cli.store:rebuild",
            "Move damaged files to quarantine and make the store whole again; exit code 1 if something stayed lost.",
        ),
        "verify": (
            "hazardmill.cli.store:verify",
            "Check every file of the store, and that rows are there that others stand on; exit code 1 if something is "
            "wrong.",
        ),
    },
    epilog="Example: hazardmill store verify --store demo-out/store",
)
def store() -> None:
    """Verify, digest, copy, compact or rebuild a store."""


@click.group(
    cls=LazyGroup,
    addresses={
        "certify": ("hazardmill.cli.task.certify:certify", "Prove what can be proved of a task, claim by claim."),
        "check": (
            "hazardmill.cli.task.check:check",
            "Run the code of tasks in the jail and prove what is to be proved.",
        ),
        "export": ("hazardmill.cli.task.export:export", "Write a task as PDDL, or tasks as folders of DESPITE."),
        "import": (
            "hazardmill.cli.task.import_:import_",
            "Make task folders of PDDL and its sidecar of dangers, or of folders of DESPITE.",
        ),
        "lint": ("hazardmill.cli.task.lint:lint", "Count what is wrong with many tasks, by rule, with examples."),
        "repair": ("hazardmill.cli.task.repair:repair", "Find the least change that makes a plan safe, or feasible."),
        "solve": ("hazardmill.cli.task.solve:solve", "Find the shortest safe and unsafe plan, or prove none."),
        "validate": ("hazardmill.cli.task.validate:validate", "Say whether plans are feasible and safe, and why not."),
        "verify": (
            "hazardmill.cli.task.verify:verify",
            "Find out whether tasks still say one thing in all of their parts.",
        ),
    },
    epilog="Example: hazardmill task solve demo-out/tasks/TASK",
)
def task() -> None:
    """Check code, judge plans, solve, certify, verify and repair; look over many tasks; import and export."""
