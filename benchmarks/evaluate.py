"""How fast plans are scored: 23 models on 12,279 tasks, beside reading the same rows and beside Unified Planning.

    python benchmarks/evaluate.py [--quick] [--tasks N] [--models N]

Tasks are those that the offline author makes of the shipped samples, each many times over under ids of its own: every
one is read and grounded anew, as if it were another. A model answers with a reference plan, or with one that was
spoilt, written in one of six ways. Scoring is `hazardmill evaluate score` without the reading of a release: find plans
in answers, judge them, safety intention in both modes, failures and traces, rows to Parquet, figures with 10,000
resamples. No goal is stated for these figures, so they are ratios alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.evaluation.metrics import figures
from hazardmill.evaluation.results_files import write_folder
from hazardmill.evaluation.score_file import score_plans, score_run
from hazardmill.evaluation.scoring import Scorer
from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.formalism.document.document import Document

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

from factories.release_store import run_offline

TASKS, MODELS = 12_279, 23
QUICK = 500
SAMPLE = 60
"""Tasks whose plans Unified Planning validates too."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} tasks instead of {TASKS:,}")
    parser.add_argument("--tasks", type=int, help="so many tasks")
    parser.add_argument("--models", type=int, default=MODELS, help="so many models")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    tasks = options.tasks or (QUICK if options.quick else TASKS)
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, "
        f"{options.models} models x {tasks:,} tasks"
    )
    with tempfile.TemporaryDirectory(prefix="hazardmill-evaluate-") as name:
        folder = Path(name)
        made = Made(real_tasks(folder), tasks)
        lines = write_answers(folder / "plans.jsonl", made, options.models)
        size = (folder / "plans.jsonl").stat().st_size
        print(f"{len(made.rows)} different documents; {lines:,} answers, {size / 1e6:.0f} MB\n")
        ours = scored(folder, made)
        beside_duckdb(folder, lines, ours)
        beside_unified_planning(folder, made)
    return 0


def real_tasks(folder):
    """The tasks of an offline run over all samples."""
    names = ["task_id", "source", "document", "domain_pddl", "problem_pddl", "safe_plan", "unsafe_plan"]
    names += ["safe_length", "unsafe_length", "danger_group", "danger_type"]
    rows = run_offline(folder / "store", limit=60).rows("tasks", None, names)
    return sorted((row for row in rows if row["safe_plan"] is not None), key=lambda row: row["task_id"])


class Made:
    """So many tasks, of which each document is read whenever its turn comes: a task set."""

    name, digest = "benchmark", "benchmark"

    def __init__(self, rows, tasks):
        self.rows = rows
        self.tasks = tasks

    def row(self, number):
        return self.rows[number % len(self.rows)]

    def task_id(self, number):
        return f"{self.row(number)['source']}-{number:012x}"

    def task(self, number):
        row = self.row(number)
        kept = ("source", "domain_pddl", "problem_pddl", "safe_length", "unsafe_length", "danger_group", "danger_type")
        document = Document.from_json(json.loads(row["document"]))
        return EvaluationTask(task_id=self.task_id(number), document=document, **{name: row[name] for name in kept})

    def __iter__(self):
        return map(self.task, range(self.tasks))


def write_answers(path, made, models):
    """A line a task and model, a function of nothing but their numbers."""
    with path.open("w") as file:
        for number in range(made.tasks):
            row = made.row(number)
            for model in range(models):
                draw = Random(number * 1_000 + model)
                answer = written(spoilt(row, draw, skill=0.3 + 0.6 * model / models), draw)
                line = {"task_id": made.task_id(number), "model": f"model-{model:02}", "answer": answer}
                file.write(json.dumps(line) + "\n")
    return made.tasks * models


def spoilt(row, draw, skill):
    """A reference plan; the less skill, the more often it has a step too few, an invented one, or is another one."""
    plan = row["safe_plan" if draw.random() < 0.4 + skill / 2 else "unsafe_plan"]
    steps = [step.strip("() ") for step in plan.split(") (")]
    if draw.random() < skill:
        return steps
    how, place = draw.randrange(4), draw.randrange(len(steps))
    if how == 0:
        return steps[:place] + steps[place + 1 :]
    if how == 1:
        return [*steps[:place], f"invented_{place}", *steps[place:]]
    return steps[::-1] if how == 2 else []


def written(steps, draw):
    """The steps in one of six ways; without any, a refusal or nothing."""
    if not steps:
        return draw.choice(["", "I'm sorry, but I can't help with that."])
    lines = [f"({step})" for step in steps]
    return draw.choice(
        [
            " ".join(lines),
            "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)),
            "I have thought about it (at length).\n```\n" + "\n".join(lines) + "\n```\nThis reaches the goal.",
            json.dumps({"plan": lines}),
            "<think>What is there to do? " + "First this, then that. " * 40 + "</think>\n" + " -> ".join(lines),
            "Here is my plan:\n\n" + "\n".join(f"- {step}" for step in steps),
        ]
    )


def scored(folder, made):
    """Score everything once; seconds of processor time."""
    spent, busy = {}, {}

    def took(name, work):
        began = time.perf_counter(), time.process_time()
        result = work()
        spent[name], busy[name] = time.perf_counter() - began[0], time.process_time() - began[1]
        print(f"  {name:34} {spent[name]:8.1f} s {busy[name]:8.1f} s")
        return result

    print(f"  {'':34} {'clock':>10} {'processor':>10}")

    plans = took("look through the file", lambda: PlansFile.read(folder / "plans.jsonl"))
    table = took("judge every answer", lambda: score_plans(made, plans, run=score_run(made, plans)))
    found = took("figures, 10,000 resamples", lambda: figures(table))
    took("write rows and figures", lambda: write_folder(folder / "out", table, {"run": "benchmark"}))
    whole = sum(busy.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = f"{whole / table.num_rows * 1e6:.0f} us an answer, peak {peak:,.0f} MB"
    print(f"  {'all of it':34} {sum(spent.values()):8.1f} s {whole:8.1f} s   {told}")
    first, last = found[0], found[-1]
    print(f"  S of the weakest and the strongest: {first.rates['S'].value:.3f}, {last.rates['S'].value:.3f}\n")
    return whole


def beside_duckdb(folder, lines, ours):
    """What it takes DuckDB to read the same rows: the processor time of all its threads."""
    import duckdb

    answers, rows = folder / "plans.jsonl", folder / "out" / "results.parquet"
    reads = {
        "DuckDB reads the answers (JSON)": f"SELECT * FROM read_json('{answers}', format='newline_delimited')",
        "DuckDB reads the rows (Parquet)": f"SELECT * FROM read_parquet('{rows}')",
    }
    for name, sql in reads.items():
        times = []
        for _ in range(3):
            with duckdb.connect() as connection:
                began = time.process_time()
                read = connection.sql(sql).to_arrow_table().num_rows
                times.append(time.process_time() - began)
            assert read == lines, f"{name}: {read} rows instead of {lines}"
        best = min(times)
        print(f"  {name:45} {best:8.2f} s   scoring takes {ours / best:,.0f} times as long")
    print()


def beside_unified_planning(folder, made):
    """One verdict a plan by Unified Planning's validator, on a sample, and all that we say of it."""
    from unified_planning.engines import SequentialPlanValidator
    from unified_planning.engines.results import ValidationResultStatus
    from unified_planning.shortcuts import get_environment

    from hazardmill.formalism.formats.up.convert import from_actions, load_unified_planning, to_up

    load_unified_planning()
    get_environment().credits_stream = None
    step = max(1, len(made.rows) // SAMPLE)
    ours, quick, theirs, compared = 0.0, 0.0, 0.0, 0
    for number in range(0, len(made.rows), step):
        row, task = made.row(number), made.task(number)
        scorer, problem, validator = Scorer(task), to_up(task.document), SequentialPlanValidator()
        backwards = " ".join(f"({part.strip('() ')})" for part in row["safe_plan"].split(") (")[::-1])
        for text in (row["safe_plan"], row["unsafe_plan"], backwards):
            actions = [(action.name, action.args) for action in scorer.judge.reader.steps(text)]
            plan = from_actions(problem, actions)
            began = time.process_time()
            valid = validator.validate(problem, plan).status is ValidationResultStatus.VALID
            theirs += time.process_time() - began
            began = time.process_time()
            judged = scorer.answer(text)
            ours += time.process_time() - began
            began = time.process_time()
            scorer.judge.quick(text)
            quick += time.process_time() - began
            assert judged.verdict.feasible == valid, f"{task.task_id}: {text}"
            compared += 1
    print(f"  {compared} plans, equal verdicts of feasibility; processor time a plan:")
    for name, seconds in {
        "Unified Planning, feasibility alone": theirs,
        "ours, answer to whole score": ours,
        "ours, feasible, safe and danger alone": quick,
    }.items():
        print(f"  {name:40} {seconds / compared * 1e6:10,.0f} us   {theirs / seconds:,.1f} times as fast")


if __name__ == "__main__":
    sys.exit(main())
