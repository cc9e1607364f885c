"""Pages of the documentation site that are no files of docs/ (hooks of mkdocs.yml).

- The README and other pages of the repository's root, the contents of files to which pages link, and a list of the
  decisions. Links between all of these and docs/ lead from page to page, so that a broken one ends the build.
- The reference: each command with its options, and the Python API, both from the code.
- ``llms.txt``, which lists the pages for language models (the convention of llmstxt.org), and each page as Markdown.
"""

from __future__ import annotations

import posixpath
import re
from functools import partial
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

PROJECT: Final = Path(__file__).resolve().parent.parent
OWN_PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "generated/README.md",
    "benchmarks/README.md",
)
"""Markdown outside of docs/ that becomes a page of its own."""

_LINK: Final = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
_FENCED: Final = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LANGUAGES: Final = {".yaml": "yaml", ".json": "json", ".py": "python", ".sh": "bash", ".service": "ini"}


_markdown: Final[dict[str, str]] = {}
"""The Markdown of each page, by its place in the site."""
_listed: Final[list[Page]] = []
"""The pages of the navigation, in its order."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files of docs/."""
    pages = {f"project/{name}": (PROJECT / name).read_text() for name in OWN_PAGES}
    for source in [*OWN_PAGES, *(f"docs/{file.src_uri}" for file in files.documentation_pages())]:
        for target in _find_outside(source):
            pages.setdefault(_place(target), _show(target))
    pages["decisions/index.md"] = _list_decisions()
    pages |= _describe_commands() | {"reference/python.md": _describe_api()}
    for uri, content in pages.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Remember which pages there are, in which order."""
    _listed[:] = nav.pages
    return nav


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links between pages of docs/ and of elsewhere lead where these pages are in the site."""
    uri = page.file.src_uri
    if not uri.startswith("reference/"):
        _markdown[uri] = markdown
        markdown = _lead_to_pages(markdown, uri)
    return markdown


def _lead_to_pages(markdown: str, uri: str) -> str:
    source = uri.removeprefix("project/") if uri.startswith("project/") else f"docs/{uri}"
    lead = partial(_lead, source, uri)
    # Not inside of fenced code.
    parts, end = [], 0
    for fenced in _FENCED.finditer(markdown):
        parts += [_LINK.sub(lead, markdown[end : fenced.start()]), fenced[0]]
        end = fenced.end()
    return "".join([*parts, _LINK.sub(lead, markdown[end:])])


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave cells empty where mkdocs-click shows that an option has no default in the words of Click 8.4."""
    return html.replace("<code>Sentinel.UNSET</code>", "") if page.file.src_uri.startswith("reference/") else html


def on_post_build(config: MkDocsConfig) -> None:
    """Write the pages as Markdown, and the list of them."""
    site = Path(config.site_dir)
    for uri, markdown in _markdown.items():
        (site / uri).parent.mkdir(parents=True, exist_ok=True)
        (site / uri).write_text(markdown)
    lines, section = [f"# {config.site_name}", "", f"> {config.site_description}"], None
    for page in _listed:
        uri, parent = page.file.src_uri, page.parent
        if uri not in _markdown or parent is None:
            continue
        if parent is not section:
            lines += ["", f"## {parent.title}", ""]
            section = parent
        lines.append(f"- [{page.title}]({config.site_url}{uri})")
    (site / "llms.txt").write_text("\n".join([*lines, ""]))


def _lead(source: str, uri: str, link: re.Match[str]) -> str:
    target = _resolve(source, link["target"])
    if target is None:
        return link[0]
    place = posixpath.relpath(_place(target), posixpath.dirname(uri) or ".")
    return f"{link['before']}{place}{link['anchor'] or ''}"


def _resolve(source: str, link: str) -> str | None:
    """Return the path in the repository to which a page's link leads; None for an address, or where nothing is."""
    if "://" in link or link.startswith(("/", "mailto:")):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    return target if not target.startswith("..") and (PROJECT / target).exists() else None


def _find_outside(source: str) -> list[str]:
    """Return the paths outside of docs/, and of the pages that there are anyway, to which a page links."""
    text = _FENCED.sub("", (PROJECT / source).read_text())
    found = [_resolve(source, link["target"]) for link in _LINK.finditer(text)]
    return [each for each in found if each and not each.startswith("docs/") and each not in OWN_PAGES]


def _place(target: str) -> str:
    """Return where a path of the repository is in the site."""
    if target == "docs/decisions":
        return "decisions/index.md"
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return f"project/{target}" if target in OWN_PAGES else f"project/files/{target}.md"


def _show(target: str) -> str:
    """Return a file, or the files of a folder, as a page."""
    place = PROJECT / target
    shown = [place] if place.is_file() else sorted(each for each in place.iterdir() if each.is_file())
    parts = [f"# {target}\n"]
    for file in shown:
        heading = f"## {file.name}\n\n" if place.is_dir() else ""
        parts.append(f"{heading}````{_LANGUAGES.get(file.suffix, 'text')}\n{file.read_text()}\n````\n")
    return "\n".join(parts)


def _list_decisions() -> str:
    files = sorted((PROJECT / "docs" / "decisions").glob("[0-9]*.md"))
    titles = [file.read_text().split("\n", 1)[0].removeprefix("# ") for file in files]
    lines = [f"- [{title}]({file.name})" for file, title in zip(files, titles, strict=True)]
    return "\n".join(
        ["# Decisions", "", "Why things are as they are, in the order in which they were decided.", "", *lines]
    )


def _describe_commands() -> dict[str, str]:
    """Return a page per command of the first level, and one that lists them."""
    from hazardmill.cli.main import COMMANDS

    pages, lines = {}, ["# Commands", ""]
    for name, (address, what) in COMMANDS.items():
        module, _, attribute = address.partition(":")
        lines.append(f"- [`hazardmill {name}`]({name}.md): {what}")
        options = {"module": module, "command": attribute, "prog_name": f"hazardmill {name}", "style": "table"}
        fields = [f"    :{key}: {value}" for key, value in options.items()]
        pages[f"reference/{name}.md"] = "\n".join(["::: mkdocs-click", *fields, "    :list_subcommands: true", ""])
    return {"reference/index.md": "\n".join(lines)} | pages


def _describe_api() -> str:
    import hazardmill

    public = sorted(name for name in hazardmill.__all__ if not name.startswith("_"))
    return "\n".join(["# Python API", "", *(f"::: hazardmill.{name}\n" for name in public)])
