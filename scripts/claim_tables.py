"""The table of claims in docs/formalism.md, and the reason codes of checks in docs/data-flow.md, from the code.

Run from the checkout: ``python scripts/claim_tables.py`` renews them. The docstring of a claim's function states when
the claim holds, up to the paragraph that begins with ``Witness:``; what follows that paragraph is for readers of the
code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hazardmill.formalism.proofs.certificate import CLAIMS
from hazardmill.formalism.proofs.claim import Claim
from hazardmill.generation.execute import CHECKS, DraftCheck

BEGIN, END = "<!-- table: python scripts/claim_tables.py -->", "<!-- end of table -->"
CHECK_ROW: Final = re.compile(r"^\| `(\w+)` \| (.*) \| .* \|$", re.MULTILINE)


def main() -> None:
    """Renew both pages."""
    docs = Path(__file__).resolve().parents[1] / "docs"
    for name, renew in (("formalism.md", renew_claims), ("data-flow.md", renew_checks)):
        page = docs / name
        page.write_text(renew(page.read_text(encoding="utf-8")), encoding="utf-8")


def renew_claims(page: str) -> str:
    """Return the page on certificates with its table of claims renewed."""
    head, _, rest = page.partition(BEGIN)
    rows = [
        "| line | holds iff | witness | reason code | a failure is a |",
        "| --- | --- | --- | --- | --- |",
        *map(render_claim, CLAIMS),
    ]
    table = "\n".join(rows)
    return f"{head}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def render_claim(claim: Claim) -> str:
    """Return the row of a claim."""
    paragraphs = [" ".join(each.split()) for each in (claim.decide.__doc__ or "").split("\n\n")]
    place = next(number for number, each in enumerate(paragraphs) if each.startswith("Witness: "))
    cells = [
        f"`{claim.name}`",
        write_cell(" ".join(paragraphs[:place])),
        write_cell(paragraphs[place].removeprefix("Witness: ")),
        "" if claim.reason is None else f"`{claim.reason}`",
        "finding" if claim.reason is None else "refusal",
    ]
    return f"| {' | '.join(cells)} |"


def write_cell(text: str) -> str:
    """Return sentences of a docstring as a cell of a Markdown table."""
    return (text[0].lower() + text[1:]).removesuffix(".").replace("``", "`")


def renew_checks(page: str) -> str:
    """Return the page on the flow of data with the reason codes of its checks renewed."""
    checks = {check.name: check for check in CHECKS}

    def renew(row: re.Match[str]) -> str:
        check = checks.get(row[1])
        return row[0] if check is None else f"| `{check.name}` | {row[2]} | {render_codes(check)} |"

    return CHECK_ROW.sub(renew, page)


def render_codes(check: DraftCheck) -> str:
    """Return the reason codes of a check: those of its claims, then its own."""
    of_claims = [claim.reason for claim in CLAIMS if claim.check == check.name and claim.reason is not None]
    return ", ".join(f"`{code}`" for code in (*of_claims, *check.reasons))


if __name__ == "__main__":
    main()
