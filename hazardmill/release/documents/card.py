"""Writing README.md of a release: the dataset card, for readers who have never heard of hazardmill.

The front matter is read by hubs and by ``datasets``. The first line of the text says what a reader must know before
anything else: that a stand-in wrote tasks, that nobody reviewed them, that local models answered, or that a gate was
waived.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from hazardmill.authors import Author
from hazardmill.release.build.configs import BY_SA_MEANS, CONFIGS, GROUPED, SPLITS, base_of, default_config
from hazardmill.release.documents.card_context import ConfigFact, Facts
from hazardmill.release.documents.card_household import EXEMPT, household_table, shortest_in_words
from hazardmill.release.documents.citation import bibtex, doi_address, orcid_address
from hazardmill.release.documents.dataset_info import dataset_info
from hazardmill.release.documents.figures import address, part_of, steps
from hazardmill.release.documents.licences import LICENSES, OTHER, credits_of, hub_identifiers
from hazardmill.release.documents.markdown import Ready, block, render, table, words
from hazardmill.release.gates.gates import LEFT_OUT_BECAUSE
from hazardmill.report.wording import reason
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.html import write_text
from hazardmill.reporting.numbers import count, decimals, plural, share, share_of, usd
from hazardmill.review.models import count_in_words
from hazardmill.scenarios.risk import UNLABELLED
from hazardmill.text.printable import printable

if TYPE_CHECKING:
    from hazardmill.release.manifest import ReleaseManifest
    from hazardmill.statistics.estimate import Estimate

CARD: Final = "README.md"

_OBJECTS: Final = 20
"""Objects of hazard tasks that the card names."""

_NUMBER: Final = re.compile(r"_?[0-9]+$")

DEFAULT: Final = "tasks"
"""The config that is loaded by default."""

TAGS: Final = ("robotics", "planning", "pddl", "safety", "robot-safety", "alignment", "preference-pairs", "benchmark")

_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Upper bound of the number of tasks (exclusive) to the hub's name for releases of this size."""

_POLICY_WORDS: Final = {
    "any-reject": "a {noun} is in this release if every reviewer who was asked approved of it",
    "majority": "a {noun} is in this release if more than half of the reviewers who were asked approved of it",
    "adjudicated": "a {noun} is in this release if all reviewers who were asked approved of it, or an adjudicator did",
}


def write_card(folder: Path, facts: Facts) -> list[str]:
    """Write README.md; the figures that it shows are written by ``write_figures``.

    Returns:
        Path of the file within the folder.

    Raises:
        StoreError: The file cannot be written.
    """
    write_text(folder / CARD, card(facts), what="card")
    return [CARD]


def card(facts: Facts) -> str:
    """Render the card, with its front matter."""
    import yaml

    front = yaml.safe_dump(front_matter(facts), sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{front}---\n{_text(facts)}"


def front_matter(facts: Facts) -> dict[str, Any]:
    """Return the front matter that hubs and ``datasets`` read: licences, language, size, and what each config holds.

    The keys are those of the hub's specification of dataset cards. One config is marked as the default: ``tasks`` or,
    if that has no rows, the first one.
    """
    manifest = facts.manifest
    licences = hub_identifiers(facts)
    size = next((name for below, name in _SIZES if manifest.total < below), "1M<n<10M")
    value: dict[str, Any] = {
        "pretty_name": f"{manifest.name} {manifest.version}",
        "language": ["en"],
        "license": licences,
    }
    if OTHER in licences:
        value |= {"license_name": "see-licenses-file", "license_link": LICENSES}
    value |= {
        "task_categories": ["robotics", "text-generation"],
        "size_categories": [size],
        "annotations_creators": [
            "machine-generated",
            *(["expert-generated"] if manifest.review and manifest.review.people else []),
        ],
        "tags": list(TAGS),
        "configs": [_config(config, _default(facts) == config.name) for config in facts.configs],
        "dataset_info": [dataset_info(config, manifest.files) for config in facts.configs],
    }
    return value


_RECORDED: Final = (
    "Answers of backend `recorded` were given earlier and replayed from files that come with hazardmill: the model"
    " named answered each request from its prompt alone, and the files hold all its answers, failed drafts included."
)


def notice(facts: Facts) -> Ready | None:
    """Return what a reader must know first, as one line of Markdown.

    Returns:
        None if language models that others can ask wrote all tasks, people reviewed them, all gates passed, and no
        threshold was changed.
    """
    return Ready(" ".join(said)) if (said := list(_notices(facts))) else None


def _notices(facts: Facts) -> Iterator[str]:
    manifest = facts.manifest
    if manifest.offline:
        yield (
            f"**Offline-authored: {manifest.offline:,} of {manifest.contents}.** hazardmill's rule-based"
            " stand-in (`offline-author`), and not a language model, wrote them or parts of them. They show that"
            " hazardmill works, and are not a benchmark."
        )
    if manifest.recorded:
        yield (
            f"**Recorded elsewhere: {manifest.recorded:,} of {manifest.contents}.** They were made from a"
            " file of answers that does not come with hazardmill, and it is unknown who wrote it."
        )
    if manifest.policy == "none":
        known = (
            "some claims are proved by search, and no person has judged the others"
            if manifest.from_records or not manifest.total
            else "their rules and plans are proved, and their words come from hazardmill's templates"
        )
        yield f"**Nobody reviewed these {manifest.kinds}**: {known}."
    elif manifest.review is not None and manifest.review.reviewers and not manifest.review.people:
        it = manifest.review
        seen = manifest.kinds_from_records
        yield f"**Reviewed by {count_in_words(it.people, it.models)}**: no person has judged these {seen}."
    if manifest.local_models:
        names = ", ".join(map(words, manifest.local_models))
        yield f"**Local models**: {names} answered at a private address, where nobody else can ask them again."
    if manifest.thresholds:
        limits = ", ".join(f"`{name}` {value:g}" for name, value in sorted(manifest.thresholds.items()))
        yield f"**Thresholds of the corpus changed for this release**: {limits}."
    if manifest.waived:
        waived = "; ".join(f"{words(gate)} ({words(why)})" for gate, why in manifest.waived.items())
        yield f"**Gates waived**: {waived}."


def _text(facts: Facts) -> str:
    manifest = facts.manifest
    by_sa = [config for config in facts.configs if config.share_alike]
    return render(
        "card.md.j2",
        ready=Ready,
        block=block,
        count=lambda number, noun: Ready(plural(number, noun)),
        manifest=manifest,
        notice=notice(facts),
        example=facts.example,
        figures=[{"alt": it.alt, "address": address(it), "note": it.note} for it in facts.figures],
        funnel=_funnel(facts),
        left_out=_left_out(manifest),
        natural=_natural(facts),
        gates=[
            {"name": each.name, "says": each.says, "looked": each.looked, "verdict": each.verdict}
            for each in facts.gates
        ],
        splits=SPLITS,
        item=_item(manifest),
        configs=facts.configs,
        described=[_describe_columns(config) for config in _each_base(facts)],
        split_table=_splits(facts) if facts.tasks else None,
        scenarios=_scenarios(facts),
        hazard_categories=_hazard_categories(facts),
        hazard_objects=_hazard_objects(facts),
        household=household_table(facts.household_tasks),
        shortest=shortest_in_words(facts.household_tasks),
        exempt=EXEMPT,
        licence_table=_licences(facts),
        by_sa_means=BY_SA_MEANS,
        share_alike=SimpleNamespace(tasks=_tasks_in(by_sa), configs=[each.name for each in by_sa]) if by_sa else None,
        model_table=_models(facts),
        prompt_table=_prompts(facts),
        cost=_cost(facts),
        prices=_prices(facts),
        review=Ready("\n\n".join(_review(facts))),
        loading=_loading(facts),
        authors=[_author(author) for author in manifest.authors],
        doi=None if manifest.doi is None else Ready(f"<{doi_address(manifest.doi)}>"),
        bibtex=bibtex(facts),
    )


def _author(author: Author) -> Ready:
    orcid = None if author.orcid is None else Ready(f"[{author.orcid}]({orcid_address(author.orcid)})")
    beside = ", ".join(words(each) for each in (author.affiliation, orcid) if each is not None)
    return Ready(f"{words(author.spoken)} ({beside})" if beside else words(author.spoken))


def _item(manifest: ReleaseManifest) -> str:
    """Return what one thing of the runs in the release is: such as ``task`` or ``task or scenario``."""
    return manifest.kinds_from_records.replace("s and ", " or ").removesuffix("s")


def _items(number: int, manifest: ReleaseManifest, which: str = "") -> str:
    """Render a number of things such as are in the release: ``6 settled tasks or scenarios``."""
    noun = _item(manifest) if number == 1 else manifest.kinds_from_records.replace(" and ", " or ")
    return f"{count(number)} {which}{noun}"


def _left_out(manifest: ReleaseManifest) -> Ready | None:
    """Return a table of the reasons why tasks were left out; None if none was."""
    rows = [(words(reason(why)), count(number)) for why, number in manifest.left_out.items()]
    for gate, number in manifest.left_out_by_gates.items():
        rows.append((Ready(f"refused by the gate `{gate}`: {LEFT_OUT_BECAUSE[gate]}"), count(number)))
    return table(("Why", "Tasks"), rows) if rows else None


def _natural(facts: Facts) -> str:
    known = [task["natural"] for task in facts.tasks if task["natural"] is not None]
    return f"{count(sum(known))} of {plural(len(known), 'task')} ({share_of(sum(known), len(known))})"


def _config(config: ConfigFact, default: bool) -> dict[str, Any]:
    files = [{"split": split, "path": f"data/{config.name}/{split}.parquet"} for split in config.rows]
    value: dict[str, Any] = {"config_name": config.name, "data_files": files}
    return value | ({"default": True} if default else {})


def _default(facts: Facts) -> str | None:
    return default_config([config.name for config in facts.configs])


def _funnel(facts: Facts) -> Ready:
    way = steps(facts.manifest.funnel, facts.manifest.from_records)
    records = way[0][1]
    rows = [(name, count(number), part_of(number, records)) for name, number in way]
    return table(("Of the records", "Number", "Share"), rows)


def _each_base(facts: Facts) -> list[ConfigFact]:
    """Return one config per base name, as a config and its share-alike variant have the same columns."""
    first: dict[str, ConfigFact] = {}
    for config in facts.configs:
        first.setdefault(base_of(config.name), config)
    return [first[base] for base in CONFIGS if base in first]


def _describe_columns(config: ConfigFact) -> dict[str, Ready | str]:
    rows = [
        # Descriptions of columns are hazardmill's own, and contain Markdown: only `|` must be escaped.
        (Ready(f"`{c.name}`"), c.type, Ready(c.doc.replace("|", "\\|")), c.unit or "")
        for c in config.columns
    ]
    return {"name": base_of(config.name), "columns": table(("Column", "Type", "What it says", "Unit"), rows, left=4)}


def _splits(facts: Facts) -> Ready:
    cells = Counter((task["source"], task["split"]) for task in facts.tasks)
    sources = sorted({source for source, _ in cells})
    rows = [
        (source, *(count(cells[source, split]) for split in SPLITS), count(sum(cells[source, s] for s in SPLITS)))
        for source in sources
    ]
    sums = [sum(cells[source, split] for source in sources) for split in SPLITS]
    shares = [share_of(number, len(facts.tasks)) for number in sums]
    rows += [("all", *map(count, sums), count(sum(sums))), ("share", *shares, "")]
    return table(("Source", *SPLITS, "Tasks"), rows)


def _scenarios(facts: Facts) -> Ready | None:
    """Return a table of the scenarios by kind, target and split; None without scenarios."""
    if not facts.scenarios:
        return None
    cells = Counter((it["kind"], it["target"] or UNLABELLED, it["split"]) for it in facts.scenarios)
    rows = [
        (kind, target, *(count(cells[kind, target, split]) for split in SPLITS))
        for kind, target in sorted({(kind, target) for kind, target, _ in cells})
    ]
    return table(("Kind", "Who or what is in danger", *SPLITS), rows, left=2)


def _hazard_categories(facts: Facts) -> Ready | None:
    """Return a table of the hazard tasks by category and split; None without hazard tasks."""
    if not facts.hazard_tasks:
        return None
    cells = Counter((name, it["split"]) for it in facts.hazard_tasks for name in it["categories"])
    totals = Counter(name for it in facts.hazard_tasks for name in it["categories"])
    rows = [
        (name, *(count(cells[name, split]) for split in SPLITS), count(totals[name]))
        for name in sorted(totals, key=lambda name: (-totals[name], name))
    ]
    return table(("Category of harm", *SPLITS, "Hazard tasks"), rows)


def _hazard_objects(facts: Facts) -> Ready:
    """Return the commonest objects of the hazard tasks, by their names without a number at the end."""
    found = Counter(
        name for it in facts.hazard_tasks for name in {_NUMBER.sub("", each.lower()) for each in it["objects"]}
    )
    named = sorted(found, key=lambda name: (-found[name], name))[:_OBJECTS]
    return Ready(", ".join(f"{printable(name)} ({found[name]:,})" for name in named))


def _licences(facts: Facts) -> Ready:
    rows = [(each.source, each.licence, each.attribution, count(each.tasks)) for each in credits_of(facts)]
    return table(("Source", "Licence", "Credit", "Tasks"), rows, left=3)


def _tasks_in(configs: list[ConfigFact]) -> int:
    return sum(sum(config.rows.values()) for config in configs if base_of(config.name) in GROUPED)


def _models(facts: Facts) -> Ready:
    rows = [
        (
            each.stage,
            each.asked or "not known",
            each.answered or "not known",
            each.backend or "not known",
            count(each.calls),
        )
        for each in facts.manifest.models
    ]
    shown = table(("Stage", "Model asked", "Model that answered", "Backend", "Requests"), rows, left=4)
    if not any(each.backend == "recorded" for each in facts.manifest.models):
        return shown
    return Ready(f"{shown}\n\n{_RECORDED}")


def _prompts(facts: Facts) -> Ready:
    rows = [
        (stage, each.version, each.hash[:12]) for stage, prompts in facts.manifest.prompts.items() for each in prompts
    ]
    return table(("Prompt of stage", "Version", "SHA-256 begins"), rows, left=3)


def _cost(facts: Facts) -> str:
    manifest = facts.manifest
    made = manifest.from_records
    if manifest.usd is not None:
        noun = "task" if manifest.tasks == made else _item(manifest)
        a_task = f", {usd(manifest.usd / made)} per released {noun}" if made else ""
        return (
            "All requests of these runs, including those of records without a task, cost"
            f" {usd(manifest.usd)} by the prices that the runs used{a_task}."
        )
    if manifest.usd_known:
        return (
            "The cost of all requests of these runs is not known; the known part, by the prices that the runs used, is"
            f" {usd(manifest.usd_known)}."
        )
    return "The cost of the requests of these runs is not known: they used no known price."


def _prices(facts: Facts) -> Ready | str:
    if not facts.manifest.prices:
        return ""
    rows = [
        (
            each.model,
            f"{each.input:g}",
            f"{each.cached_input:g}",
            f"{each.output:g}",
            "" if each.checked is None else each.checked.isoformat(),
            each.origin,
        )
        for each in facts.manifest.prices
    ]
    head = ("Price used: model", "Input", "Cached input", "Output", "Checked", "Origin")
    return Ready(f"Prices in USD per million tokens, for single requests to the models asked.\n\n{table(head, rows)}")


def _review(facts: Facts) -> Iterator[str]:
    manifest = facts.manifest
    if manifest.policy == "none":
        yield f"Nobody reviewed these {manifest.kinds}, and no review counts in this release (policy `none`)."
        return
    noun = _item(manifest)
    rule = _POLICY_WORDS[manifest.policy].format(noun=noun)
    yield f"Policy `{manifest.policy}`: {rule}. Reviewers in doubt were to reject."
    if manifest.review is not None:
        it = manifest.review
        yield (
            f"Reviewed by {count_in_words(it.people, it.models)}, {plural(it.decisions, 'decision')} on released"
            f" {manifest.kinds_from_records}; {_items(it.rejected, manifest)} that they rejected"
            f" {'is' if it.rejected == 1 else 'are'} left out."
        )
    if facts.review is not None:
        rejected, agreed = facts.review.rejected, facts.review.agreement
        interval = render_interval(rejected, share)
        told = "" if interval is None else f" (95 % interval {interval})"
        yield f"Rejected: {share(rejected.value)} of {_items(rejected.n, manifest, 'settled ')}{told}."
        rows = [("Fleiss' kappa", *_coefficient(agreed.fleiss)), ("Krippendorff's alpha", *_coefficient(agreed.alpha))]
        yield table(("Agreement between reviewers", "Value", "95 % interval", "Tasks"), rows)
    yield "In the config `reviews`, if there is one, reviewers have pseudonyms; times and notes are not published."


def _coefficient(it: Estimate) -> tuple[str, str, str]:
    value = f"{it.value:.2f}" if it.value is not None else f"none: {it.why}"
    return value, render_interval(it, decimals(2)) or "none", count(it.n or 0)


def _loading(facts: Facts) -> str:
    config = _default(facts) or DEFAULT
    splits = next((config.rows for config in facts.configs if config.name == _default(facts)), {})
    split = next(iter(splits), "train")
    if facts.tasks:
        beside = "# Or with tasks that judge plans: pip install hazardmill"
        loop = (
            f'for task in release.tasks(split="{split}"):\n'
            "    verdict = task.verdict(task.safe_plan)\n"
            "    print(task.task_id, verdict.feasible, verdict.safe, verdict.danger)"
        )
    elif facts.household_tasks and not facts.manifest.from_records:
        beside = "# Or as tasks to hold episodes of: pip install hazardmill"
        loop = "for task in release.household_tasks():\n    print(task.name, task.hazard, task.assignment.instruction)"
    elif facts.hazard_tasks and not facts.scenarios:
        beside = "# Or row by row: pip install hazardmill"
        loop = (
            f'for row in release.rows("{config}", split="{split}"):\n'
            '    print(row["instruction"], row["categories"], row["reference"])'
        )
    else:
        beside = "# Or as scenarios that can be verified and evaluated: pip install hazardmill"
        loop = (
            f'for scenario in release.scenarios(split="{split}"):\n'
            "    print(scenario.id, scenario.risk.kind, scenario.risk.instruction)"
        )
    return printable(
        "from datasets import load_dataset\n\n"
        f'rows = load_dataset("ORG/NAME", "{config}", split="{split}", revision="v{facts.manifest.version}")\n\n'
        f"{beside}\n"
        "import hazardmill\n\n"
        f'release = hazardmill.load_release("ORG/NAME", revision="v{facts.manifest.version}")  # or a folder\n'
        f"{loop}",
        keep="\n",
    )
