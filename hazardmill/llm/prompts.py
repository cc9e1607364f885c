"""Prompt templates: ``prompts/<stage>/<name>.md.j2``, with YAML front matter followed by one section per message.

A template looks like this::

    ---
    version: "1"
    purpose: What it asks for, one sentence.
    output: Danger
    parameters: {temperature: 0.7, max_tokens: 1200}
    ---
    ---8<--- system
    What is the same for every record. It comes first, so that a provider can cache it.
    ---8<--- user
    {{ record.context }}

Sections are split before anything is filled in, so no text of a record can open a message. Each section is a template
of its own (a name set in one is unknown in the next), rendered in Jinja2's sandbox. White space around it is dropped,
and a line that holds only a block tag leaves no empty line. Includes are not possible, so the hash of the file covers
the whole template.

Within a message, data stands in blocks such as ``<record>`` ... ``</record>``. A value cannot open or close a block:
where it contains the tag of a block (``BLOCKS``), the tag's ``<`` is written ``&lt;``. The rest of the value is
unchanged.

Each source can say how to read its records, in ``sources/<name>/guidance.md``. This is shown in ``<guidance>`` before
the record, so that a provider caches first what all records share, then what the records of a source share.
"""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import ConfigDict, Field, JsonValue, ValidationError

from hazardmill.errors import PromptError
from hazardmill.llm.requests import Message, Stage
from hazardmill.plugins import find_plugins
from hazardmill.records import FrozenModel, Text, content_hash
from hazardmill.resources import prompts_folder, source_folders, sources_folders

_FENCE: Final = "---"
_MARKER: Final = re.compile(r"---8<---[ \t]*(?P<role>\S*)[ \t]*")
_ROLES: Final = ("system", "user", "assistant")

BLOCKS: Final = (
    "record",
    "guidance",
    "danger",
    "answer_format",
    "previous_draft",
    "feedback",
    "said_before",
    "task",
    "example",
    "said",
)
"""The blocks that templates put data into. A template that uses another block must add its name here."""

MAX_GUIDANCE: Final = 4_000
"""Maximum length in characters; guidance is sent with every record of its source."""

# Blanks are allowed only in a closing tag or a bare one: `a < code` in Python is not a tag and must stay as it is.
_NAMES: Final = "|".join(BLOCKS)
_TAG: Final = re.compile(rf"<(?=\s*/\s*(?:{_NAMES})\b|(?:{_NAMES})\b|\s+(?:{_NAMES})\s*>)", re.IGNORECASE)


class FrontMatter(FrozenModel):
    """The YAML head of a prompt template.

    Attributes:
        version: Name of this version of the template.
        purpose: What the prompt asks for, in one sentence.
    """

    # `version: 2` is a number in YAML and a name here.
    model_config = ConfigDict(coerce_numbers_to_str=True)

    version: Text
    purpose: Text
    output: Text
    """What the answer must be: the name of a schema, ``outline``, or ``python``."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """What the provider is sent besides the messages, such as temperature or max_tokens."""


@dataclass(frozen=True)
class _Section:
    role: str
    line: int
    """Line of the file, from 1, where the text begins."""
    template: Template


@dataclass(frozen=True)
class PromptTemplate:
    """One prompt template, parsed and ready to render.

    Attributes:
        path: The template file.
        front: The front matter.
        sections: The messages, each a template of its own.
    """

    path: Path
    front: FrontMatter
    hash: str
    """SHA-256 of the template file, or of the file and all guidance."""
    sections: tuple[_Section, ...]
    guidance: Mapping[str, str] = field(default_factory=dict)
    """How to read the records of each source, by the source's name."""

    @property
    def version(self) -> str:
        """Version in the front matter."""
        return self.front.version

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """Model parameters in the front matter, as a copy."""
        return dict(self.front.parameters)

    def with_guidance(self, guidance: Mapping[str, str]) -> PromptTemplate:
        """Return the template with guidance.

        Guidance affects answers as the template does, so it becomes part of the hash.
        """
        if not guidance:
            return self
        parts = [self.hash, *(part for name in sorted(guidance) for part in (name, guidance[name]))]
        return replace(self, guidance=dict(guidance), hash=content_hash(parts))

    def render(self, **values: object) -> tuple[Message, ...]:
        """Fill in the template.

        Args:
            values: What the expressions of the template refer to.

        Returns:
            One message per section, in their order; sections that come out empty are left out.

        Raises:
            PromptError: A name is unknown, an expression fails, or no message is left.
        """
        messages = tuple(
            Message.model_validate({"role": section.role, "content": text})
            for section in self.sections
            if (text := self._fill(section, values))
        )
        if not messages:
            raise PromptError(
                "the rendered prompt is empty",
                file=str(self.path),
                remedy="pass to `render` every value that the template uses",
            )
        return messages

    def _fill(self, section: _Section, values: dict[str, object]) -> str:
        try:
            return section.template.render(values).strip()
        except Exception as error:
            # An expression of a template can fail in any way: division, attribute, sandbox.
            raise PromptError(
                f"cannot fill in the {section.role} message: {error}",
                file=str(self.path),
                line=_line_of(error, str(self.path)) or section.line,
                remedy="pass the value to `render`, or fix the expression",
            ) from error


def load_prompt(
    stage: Stage | Literal["scenario", "acting", "pairs", "episode"], name: str, folder: Path | None = None
) -> PromptTemplate:
    """Return the template ``<stage>/<name>.md.j2``. Each file is read once per process.

    Args:
        stage: Folder of the template.
        name: File name without ``.md.j2``.
        folder: Folder of all prompts; by default the one of this installation.

    Raises:
        PromptError: The file is missing or invalid.
    """
    return read_prompt((folder or prompts_folder()) / stage / f"{name}.md.j2")


def load_guidance(sources: Collection[str] = ()) -> dict[str, str]:
    """Load the ``guidance.md`` of every source: how to read its records.

    Args:
        sources: The sources that are worked on. The guidance of a source of an installed package is left out unless it
            is one of them, so that installing a package does not change the prompts of runs on other sources.

    Returns:
        The guidance by the source's name. Sources without such a file are left out.

    Raises:
        PromptError: A file is not UTF-8 text of 1 to ``MAX_GUIDANCE`` characters.
        PluginError: One of ``sources`` belongs to an installed package, and cannot be used.
    """
    files = {path.parent.name: path for home in sources_folders() for path in sorted(home.glob("*/guidance.md"))}
    folders = source_folders()
    others = [name for name in sources if name not in folders]
    search = find_plugins("source") if others else None
    for name in others:
        plugin = None if search is None else search.get(name)
        if plugin is not None and (path := plugin.folder / "guidance.md").is_file():
            files[name] = path
    return {name: _read_guidance(path) for name, path in files.items()}


def _read_guidance(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the guidance: {error}", file=str(path), remedy="save it as UTF-8") from error
    if not 0 < len(text) <= MAX_GUIDANCE:
        raise PromptError(
            f"the guidance has {len(text)} characters; it must have 1 to {MAX_GUIDANCE}",
            file=str(path),
            remedy="describe in a few sentences how to read the source's records, or remove the file",
        )
    return text


@cache
def read_prompt(path: Path) -> PromptTemplate:
    """Return the template in a file, which is read once per process.

    Raises:
        PromptError: The file is missing or invalid; names the line where one is known.
    """
    try:
        raw = path.read_bytes()
        # A checkout with CRLF line ends must send the same prompt and have the same hash.
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise PromptError(
            f"cannot read the prompt: {error.strerror or error}",
            file=str(path),
            remedy="prompts are at <stage>/<name>.md.j2",
        ) from error
    except UnicodeDecodeError as error:
        raise PromptError(
            "the prompt is not UTF-8",
            file=str(path),
            line=raw[: error.start].count(b"\n") + 1,
            remedy="save it as UTF-8",
        ) from error
    lines = text.split("\n")
    end = _end_of_front_matter(path, lines)
    return PromptTemplate(
        path=path,
        front=_front_matter(path, "\n".join(lines[1:end])),
        hash=hashlib.sha256(text.encode()).hexdigest(),
        sections=_sections(path, lines, end + 1),
    )


def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_defuse,
    )


def _defuse(value: object) -> str:
    """Return the text of a value, unable to open or close a block."""
    return _TAG.sub("&lt;", str(value))


def _end_of_front_matter(path: Path, lines: list[str]) -> int:
    if lines[0].rstrip() == _FENCE:
        for number, line in enumerate(lines[1:], start=1):
            if line.rstrip() == _FENCE:
                return number
    raise PromptError(
        "the prompt has no front matter",
        file=str(path),
        line=1,
        remedy="begin with YAML between two lines of ---: version, purpose, output, parameters",
    )


def _front_matter(path: Path, text: str) -> FrontMatter:
    import yaml

    remedy = "front matter is version, purpose, output, parameters"
    try:
        return FrontMatter.model_validate(yaml.safe_load(text))
    except yaml.MarkedYAMLError as error:
        # YAML counts lines from 0, and the fence is line 1 of the file.
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise PromptError(
            f"front matter is not YAML: {error.problem}", file=str(path), line=line, remedy=remedy
        ) from error
    except yaml.YAMLError as error:
        raise PromptError(f"front matter is not YAML: {error}", file=str(path), line=1, remedy=remedy) from error
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in found["loc"])
        raise PromptError(
            f"front matter, {name or 'as a whole'}: {found['msg']}",
            file=str(path),
            line=_line_of_key(text, name),
            remedy=remedy,
        ) from error


def _sections(path: Path, lines: list[str], start: int) -> tuple[_Section, ...]:
    marks = [number for number in range(start, len(lines)) if _MARKER.fullmatch(lines[number])]
    stray = next((n for n in range(start, marks[0] if marks else len(lines)) if lines[n].strip()), None)
    if stray is not None or not marks:
        raise PromptError(
            "the prompt has text before its first message, or no message at all",
            file=str(path),
            line=(start if stray is None else stray) + 1,
            remedy="begin each message with a line such as `---8<--- system` or `---8<--- user`",
        )
    environment = _environment()
    sections: list[_Section] = []
    for mark, end in zip(marks, [*marks[1:], len(lines)], strict=True):
        role = cast(re.Match[str], _MARKER.fullmatch(lines[mark]))["role"]
        if role not in _ROLES:
            raise PromptError(
                f"unknown role: {role!r}", file=str(path), line=mark + 1, remedy=f"use one of {', '.join(_ROLES)}"
            )
        if role == "system" and sections:
            raise PromptError(
                "a system message must come first",
                file=str(path),
                line=mark + 1,
                remedy="put what is the same for all records into one system message at the top",
            )
        # Blank lines replace everything before the section, so that Jinja2 reports line numbers of the file.
        source = "\n" * (mark + 1) + "\n".join(lines[mark + 1 : end])
        sections.append(_Section(role, mark + 2, _compile(environment, path, source)))
    return tuple(sections)


def _compile(environment: ImmutableSandboxedEnvironment, path: Path, source: str) -> Template:
    try:
        code = environment.compile(source, name=path.name, filename=str(path))
    except TemplateError as error:
        raise PromptError(
            f"the template is wrong: {error.message}",
            file=str(path),
            line=error.lineno if isinstance(error, TemplateSyntaxError) else None,
            remedy="fix the Jinja2 expression",
        ) from error
    return environment.template_class.from_code(environment, code, environment.make_globals(None))


def _line_of(error: Exception, filename: str) -> int | None:
    """Line of the template where ``error`` was raised. Jinja2 rewrites its tracebacks to name it."""
    frames = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    return frames[-1] if frames else None


def _line_of_key(text: str, name: str) -> int:
    key = name.split(".")[0]
    for number, line in enumerate(text.split("\n"), start=2):
        if key and line.startswith(f"{key}:"):
            return number
    return 1
