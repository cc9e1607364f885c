"""The table of settings in docs/settings.md, made from the fields that declare them.

Run from the checkout: ``python scripts/settings_table.py`` renews it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic.fields import FieldInfo

from hazardmill.run_options import RunOption, describe_default, run_options
from hazardmill.settings import PREFIX, Settings

BEGIN, END = "<!-- table: python scripts/settings_table.py -->", "<!-- end of table -->"
HEAD: Final = (
    "| setting | environment | option of `run generate` | default | what it decides |",
    "| --- | --- | --- | --- | --- |",
)


ELSEWHERE: Final = {
    "dask_address": "(of `flows/check.py`)",
    "pages_url": "(of `flows/publish.py`)",
    "reports_days": "(of `flows/publish.py`)",
    "authors": "(of `release build`)",
    "doi": "`--doi` of `release build`",
}
"""Settings that no option of ``run generate`` goes with."""


def main() -> None:
    """Renew the page."""
    page = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
    page.write_text(renew_settings(page.read_text(encoding="utf-8")), encoding="utf-8")


def renew_settings(page: str) -> str:
    """Return the page on settings with its table as it should be."""
    head, _, rest = page.partition(BEGIN)
    rows = {name: render_setting(name, field, option) for name, field, option in run_options(Settings)}
    table = "\n".join([*HEAD, rows.pop("store"), *rows.values()])
    return f"{head}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def render_setting(name: str, field: FieldInfo, option: RunOption) -> str:
    """Return the row of a setting; the store comes first."""
    flag = ELSEWHERE.get(name, f"`{option.flag_of(name)}`")
    return f"| `{name}` | `{PREFIX}{name.upper()}` | {flag} | {describe_default(field, option)} | {field.description} |"


if __name__ == "__main__":
    main()
