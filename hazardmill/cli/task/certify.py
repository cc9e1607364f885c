"""``hazardmill task certify``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from hazardmill.api.task import Task
from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.errors import InputError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import twin_json
from hazardmill.formalism.proofs.claim import Certificate, describe_witness
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.task_access import find_task, is_unavoidable
from hazardmill.text.integers import integers_of_any_size
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill task certify demo-out/tasks/TASK --twin twin.json")
@click.argument("name", metavar="TASK")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the certificate to FILE."
)
@click.option(
    "--twin",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the contrast twin: the task in circumstances where the unsafe plan is safe.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=DEFAULT_LIMIT,
    show_default=True,
    help="Maximum number of expansions of a search.",
)
@click.option(
    "--imported",
    is_flag=True,
    help="Treat the task as imported, so that failed claims are findings [default: if the task says so].",
)
@click.option(
    "--unavoidable", is_flag=True, help="Treat the danger as declared unavoidable [default: if the task declares it]."
)
@click.option("--strict", is_flag=True, help="Exit code 1 for findings too.")
@store_option
@json_option
def certify(
    name: str,
    out: Path | None,
    twin: Path | None,
    limit: int,
    imported: bool,
    unavoidable: bool,
    strict: bool,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Prove what can be proved about a task, claim by claim.

    TASK is a task folder, a task.json, or the id of a stored task. Each claim holds, fails or is not decided, and its
    evidence is printed below it. The JSON follows certificate.schema.json.

    Exit code 1 if a failed claim refuses the task, if the search gave up at its limit, or if there is no twin to write;
    3 if TASK cannot be read.
    """
    document = find_task(name, store_path)
    task = Task(document, unavoidable=unavoidable or is_unavoidable(name, store_path))
    certificate = task.certify(limit=limit, imported=imported or None)
    with integers_of_any_size():
        if out is not None:
            write_json(out, certificate.to_json())
        if twin is not None and certificate.twin_document is not None:
            write_json(twin, twin_json(document, certificate))
        if as_json:
            print_json(certificate.to_json())
        else:
            for text in in_words(document, certificate):
                click.echo(text)
    no_twin = twin is not None and certificate.twin is None
    if no_twin:
        click.echo(f"no {twin}: no single flip of context makes the unsafe plan safe", err=True)
    if no_twin or certificate.refusals or (strict and certificate.findings):
        sys.exit(1)


def in_words(document: Document, certificate: Certificate) -> Iterator[str]:
    """Render a certificate for people, claim by claim."""
    yield printable(f"{document.name}: document {certificate.document_hash[:12]}")
    counts: Counter[str] = Counter()
    for line in certificate.lines:
        word = {True: "holds", False: "FAILS", None: "not decided"}[line.passed]
        counts[word] += 1
        level = f" [{line.severity}]" if line.passed is False else ""
        yield printable(f"{word:<11}  {line.name}{level}: {line.message}")
        for part, text in describe_witness(line.witness).items():
            yield printable(f"{'':<13}{part}: {text}")
        if line.mend is not None:
            yield printable(f"{'':<13}mend: {line.mend}")
    refusals, findings = len(certificate.refusals), len(certificate.findings)
    yield (
        f"{len(certificate.lines)} claims: {counts['holds']} hold, {counts['FAILS']} fail"
        f" (refusals: {refusals}, findings: {findings}), {counts['not decided']} not decided"
    )


def write_json(path: Path, value: object) -> None:
    """Write a value to a file, as JSON.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(path), remedy="name a writable file"
        ) from error
