"""Writing CITATION.cff of a release (Citation File Format 1.2.0), and the same citation as BibTeX for the card."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hazardmill.authors import Author
from hazardmill.release.build.household_config import HOUSEHOLD_CREDIT
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.licences import licence_name
from hazardmill.reporting.html import write_text
from hazardmill.reporting.numbers import plural
from hazardmill.text.printable import printable

CITATION: Final = "CITATION.cff"

AUTHORS: Final = "The hazardmill developers"

KEYWORDS: Final = ("robot safety", "task planning", "PDDL", "benchmark", "alignment")

_BIBTEX_SIGNS: Final = re.compile(r"[\\{}$&#^_%~]")


def write_citation(folder: Path, facts: Facts) -> list[str]:
    """Write CITATION.cff.

    Returns:
        Path of the file within the folder.

    Raises:
        StoreError: The file cannot be written.
    """
    write_text(folder / CITATION, citation(facts), what="citation")
    return [CITATION]


def citation(facts: Facts) -> str:
    """Return the content of CITATION.cff, as YAML.

    ``license`` is only set if all tasks have the same licence and it has an SPDX identifier: the format takes a list of
    licences as a choice. The sources are listed under ``references``.
    """
    import yaml

    manifest = facts.manifest
    value: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, cite it as below, and the sources that its tasks are derived from.",
        "type": "dataset",
        "title": title(facts),
        "version": manifest.version,
        "abstract": abstract(facts),
        "authors": [_cff_author(author) for author in manifest.authors] or [{"name": AUTHORS}],
        "keywords": list(KEYWORDS),
    }
    if manifest.doi is not None:
        value["doi"] = manifest.doi
    if manifest.date is not None:
        value["date-released"] = manifest.date.isoformat()
    # A list of licences would mean that a reader may choose one. Here each row has its own: LICENSES.md.
    names = [licence_name(licence).spdx for licence in manifest.licences]
    if len(names) == 1 and names[0] is not None:
        value["license"] = names[0]
    if sources := source_credits(facts):
        value["references"] = [
            {"type": "data", "title": credit, "authors": [{"name": ", ".join(sorted(names))}]}
            for credit, names in sorted(sources.items())
        ]
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))


def source_credits(facts: Facts) -> dict[str, set[str]]:
    """Return each credit line, on one line, with the names of the sources that it is owed to."""
    sources: dict[str, set[str]] = defaultdict(set)
    for each in facts.manifest.attributions:
        if each.source == HOUSEHOLD_CREDIT[0]:
            continue  # It is what is cited, and no source of it.
        sources[_line(each.attribution)].add(_line(each.source))
    return sources


def orcid_address(orcid: str) -> str:
    """Return the address of an ORCID iD."""
    return f"https://orcid.org/{orcid}"


def doi_address(doi: str) -> str:
    """Return the address of a DOI."""
    return f"https://doi.org/{doi}"


def _cff_author(author: Author) -> dict[str, str]:
    """Return an author as a person or an entity of the Citation File Format."""
    if not author.is_person:
        return {"name": author.name}
    told = {
        "family-names": author.family,
        "given-names": author.given or None,
        "affiliation": author.affiliation,
        "orcid": None if author.orcid is None else orcid_address(author.orcid),
    }
    return {name: value for name, value in told.items() if value is not None}


def _bibtex_authors(authors: Sequence[Author]) -> str:
    """Return authors as BibTeX has them: a group is in braces of its own, so that no part of it is taken for a name."""
    names = [(_BIBTEX_SIGNS.sub(" ", author.name.removesuffix(",")), author.given) for author in authors]
    return " and ".join(name if given else f"{{{name}}}" for name, given in names) or f"{{{AUTHORS}}}"


def title(facts: Facts) -> str:
    """Return the title under which the release is cited."""
    if facts.manifest.household_tasks == facts.manifest.total > 0:
        return f"{facts.manifest.name}: household tasks under safety rules, for robots that act step by step"
    if facts.manifest.hazard_tasks == facts.manifest.from_records > 0:
        return f"{facts.manifest.name}: household tasks in which careless robot planners do harm"
    if facts.manifest.scenarios and not facts.manifest.tasks:
        return f"{facts.manifest.name}: harmful commands, and harmless ones in risky circumstances, for robot planners"
    return f"{facts.manifest.name}: robot planning tasks in which a natural plan is dangerous and a safe plan exists"


def abstract(facts: Facts) -> str:
    """Return a few sentences about the release, for the citation and Croissant.

    If hazardmill's rules wrote some of the tasks, the abstract says so.
    """
    manifest = facts.manifest
    records = "derived from public records of household programs, social norms and injuries"
    said = []
    if manifest.tasks or not manifest.total:
        said.append(
            f"{plural(manifest.tasks, 'planning task')}, each with a shortest dangerous plan and a shortest safe one,"
            f" or the proof that there is none, {records}. That the plans work, and which of them is dangerous, is"
            " proved by exact search."
        )
    if manifest.scenarios:
        said.append(
            f"{plural(manifest.scenarios, 'scenario')} of the SAFEL protocol, {records}: a harmful command to a robot,"
            " or a harmless one in risky circumstances, with its only shortest plan found by exact search."
        )
    if manifest.hazard_tasks:
        said.append(
            f"{plural(manifest.hazard_tasks, 'hazard task')} that roles proposed in dialogues of language models: a"
            " harmless request to a robot, a script that carries it out, and the proof that a careless plan does harm."
        )
    if manifest.household_tasks:
        said.append(
            f"{plural(manifest.household_tasks, 'household task')} drawn from templates: a room, an errand for a robot"
            " that acts step by step, a safety rule, and the proof that one plan for the errand keeps the rule and"
            " another one does not."
        )
    if manifest.offline:
        said.append(
            f"{manifest.offline:,} of them are not the work of a language model: a rule-based stand-in wrote them."
        )
    return " ".join(said)


def bibtex(facts: Facts) -> str:
    """Render the BibTeX entry of the release."""
    manifest = facts.manifest
    year = "" if manifest.date is None else f"\n  year = {{{manifest.date.year}}},"
    doi = "" if manifest.doi is None else f"\n  doi = {{{manifest.doi}}},"
    name = _BIBTEX_SIGNS.sub(" ", title(facts))
    key = re.sub(r"\W", "", manifest.name)
    author = f"\n  author = {{{_bibtex_authors(manifest.authors)}}},"
    return (
        f"@misc{{{key}_{manifest.version.replace('.', '_')},\n  title = {{{name}}},{author}"
        f"{year}{doi}\n  note = {{Version {manifest.version}}}\n}}"
    )


def _line(text: str) -> str:
    """Return a text of a source on one line, with unprintable characters escaped."""
    return printable(" ".join(text.split()))
