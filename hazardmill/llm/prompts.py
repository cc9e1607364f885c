"""Prompt templates: ``prompts/<stage>/<name>.md.j2``, YAML front matter and then one section a message.

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

Sections are cut before anything is filled in: no text of a record can open a message of its own. Each section is
a template by itself (a name set in one is unknown in the next), rendered in Jinja2's sandbox; white space around
it is dropped, and a line that holds only a block tag leaves no empty line. Nothing can be included, so that the
hash of the file says all about the template.

Inside a message, data stands in blocks such as ``<record>`` ... ``</record>``. A value cannot open or close one: where
it holds the tag of a block (``BLOCKS``), the tag's ``<`` is written ``&lt;``. All else of a value stays as it is.

How to read the records of a source is for the source to say: ``sources/<name>/guidance.md``, shown in ``<guidance>``
before the record, so that what is cached of a prompt is first what all records share, then what those of a source do.
"""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, cast

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import ConfigDict, Field, JsonValue, ValidationError

from hazardmill.errors import PromptError
from hazardmill.llm.requests import Message, Stage
from hazardmill.records import FrozenModel, Text, content_hash
from hazardmill.resources import prompts_folder, sources_folders

_FENCE: Final = "---"
_MARKER: Final = re.compile(r"---8<---[ \t]*(?P<role>\S*)[ \t]*")
_ROLES: Final = ("system", "user", "assistant")

BLOCKS: Final = ("record", "guidance", "danger", "answer_format", "previous_draft", "feedback", "said_before", "task")
"""The blocks that templates put data into. One that uses another adds its name here."""

MAX_GUIDANCE: Final = 4_000
"""Characters: it is sent with every record of its source."""

# With blanks in it only where it closes, or ends at once: `a < code` in Python is no tag, and is to stay as it is.
_NAMES: Final = "|".join(BLOCKS)
_TAG: Final = re.compile(rf"<(?=\s*/\s*(?:{_NAMES})\b|(?:{_NAMES})\b|\s+(?:{_NAMES})\s*>)", re.IGNORECASE)


class FrontMatter(FrozenModel):
    """The head of a template."""

    # `version: 2` is a number to YAML and a name to us.
    model_config = ConfigDict(coerce_numbers_to_str=True)

    version: Text
    purpose: Text
    output: Text
    """What the answer must be: the name of a schema, ``outline``, or ``python``."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """What the provider is sent beside the messages: temperature, max_tokens..."""


@dataclass(frozen=True)
class _Section:
    role: str
    line: int
    """1-based line of the file where the text begins."""
    template: Template


@dataclass(frozen=True)
class PromptTemplate:
    """One template, ready to be filled in."""

    path: Path
    front: FrontMatter
    hash: str
    """SHA-256 of the template file, or of that and of all guidance."""
    sections: tuple[_Section, ...]
    guidance: Mapping[str, str] = field(default_factory=dict)
    """What is said of the records of a source, by its name."""

    @property
    def version(self) -> str:
        """Version in the front matter."""
        return self.front.version

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """Model parameters in the front matter, a copy of one's own."""
        return dict(self.front.parameters)

    def with_guidance(self, guidance: Mapping[str, str]) -> PromptTemplate:
        """The same with guidance, which decides answers as the template does, and so is part of the hash."""
        if not guidance:
            return self
        parts = [self.hash, *(part for name in sorted(guidance) for part in (name, guidance[name]))]
        return replace(self, guidance=dict(guidance), hash=content_hash(parts))

    def render(self, **values: object) -> tuple[Message, ...]:
        """Fill the template in: one message a section, sections that come out empty left out.

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
                "the prompt came out empty", file=str(self.path), remedy="give it the values that it shows"
            )
        return messages

    def _fill(self, section: _Section, values: dict[str, object]) -> str:
        try:
            return section.template.render(values).strip()
        except Exception as error:
            # Any expression of a template can fail in any way: division, attribute, sandbox.
            raise PromptError(
                f"cannot fill in the {section.role} message: {error}",
                file=str(self.path),
                line=_line_of(error, str(self.path)) or section.line,
                remedy="pass the value in `render`, or mend the expression",
            ) from error


def load_prompt(stage: Stage, name: str, folder: Path | None = None) -> PromptTemplate:
    """Load ``<stage>/<name>.md.j2`` from ``folder``, by default the prompts of this installation. Read once a process.

    Raises:
        PromptError: The file is missing or wrong.
    """
    return read_prompt((folder or prompts_folder()) / stage / f"{name}.md.j2")


def load_guidance() -> dict[str, str]:
    """What the sources say of how to read their records: ``guidance.md`` in their folders, by the source's name.

    Raises:
        PromptError: A file is no text of at most ``MAX_GUIDANCE`` characters.
    """
    files = [path for home in sources_folders() for path in sorted(home.glob("*/guidance.md"))]
    return {path.parent.name: _read_guidance(path) for path in files}


def _read_guidance(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the guidance: {error}", file=str(path), remedy="save it as UTF-8") from error
    if not 0 < len(text) <= MAX_GUIDANCE:
        raise PromptError(
            f"the guidance has {len(text)} characters, not 1 to {MAX_GUIDANCE}",
            file=str(path),
            remedy="say in a few sentences how to read the source's records, or remove the file",
        )
    return text


@cache
def read_prompt(path: Path) -> PromptTemplate:
    """Read one template file.

    Raises:
        PromptError: The file is missing or wrong.
    """
    try:
        raw = path.read_bytes()
        # A checkout with CRLF line ends sends the same prompt, and has the same hash.
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise PromptError(
            f"cannot read the prompt: {error.strerror or error}",
            file=str(path),
            remedy="prompts lie at <stage>/<name>.md.j2",
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
    """The text of a value, unable to open or close a block."""
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
        # YAML counts from 0, and the fence is line 1 of the file.
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise PromptError(
            f"front matter is no YAML: {error.problem}", file=str(path), line=line, remedy=remedy
        ) from error
    except yaml.YAMLError as error:
        raise PromptError(f"front matter is no YAML: {error}", file=str(path), line=1, remedy=remedy) from error
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
            "text before the first message, or no message at all",
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
                f"no such role: {role!r}", file=str(path), line=mark + 1, remedy=f"a role is one of {', '.join(_ROLES)}"
            )
        if role == "system" and sections:
            raise PromptError(
                "a system message must come first",
                file=str(path),
                line=mark + 1,
                remedy="put what is the same for all records into one system message at the top",
            )
        # Blank lines stand for all that went before, so that Jinja2 counts the lines of the file.
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
            remedy="mend the Jinja2 expression",
        ) from error
    return environment.template_class.from_code(environment, code, environment.make_globals(None))


def _line_of(error: Exception, filename: str) -> int | None:
    """Line of the template where ``error`` was raised: Jinja2 rewrites its tracebacks to say so."""
    frames = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    return frames[-1] if frames else None


def _line_of_key(text: str, name: str) -> int:
    key = name.split(".")[0]
    for number, line in enumerate(text.split("\n"), start=2):
        if key and line.startswith(f"{key}:"):
            return number
    return 1
