"""Values of a YAML file, and the line on which each of them stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from hazardmill.errors import InputError

_TEXT = "tag:yaml.org,2002:str"

YamlPath = tuple[str | int, ...]
"""Keys and places in lists (from 0) that lead from the top of a file to a value."""


@dataclass(frozen=True, slots=True)
class YamlFile:
    """A file of YAML: what it says, and where.

    Attributes:
        file: Its name, for messages.
        values: Its values, as ``yaml.safe_load`` returns them.
        root: The node of PyYAML at the top.
    """

    file: str
    values: Any
    root: Any

    @classmethod
    def parse(cls, content: bytes, file: str, *, what: str, texts: Collection[str] = (), remedy: str) -> YamlFile:
        """Read the content of a file.

        Args:
            content: The bytes of the file.
            file: Its name, for messages.
            what: What to call it in messages: ``the recipe``.
            texts: Keys of mappings whose values stay the texts that they are written as: ``007`` is no number there.
            remedy: What to do if the file is empty, or not a mapping.

        Returns:
            The file.

        Raises:
            InputError: It is not YAML, empty, not a mapping, or has a key twice; the message has the line.
        """
        import yaml

        try:
            loader = yaml.SafeLoader(content.decode("utf-8-sig"))
            try:
                root = loader.get_single_node()
                for node in [] if root is None else _mappings(root):
                    _check_keys(node, file, what)
                    _keep_texts(node, texts)
                values = None if root is None else loader.construct_document(root)
            finally:
                loader.dispose()
        except yaml.MarkedYAMLError as error:
            line = None if error.problem_mark is None else error.problem_mark.line + 1
            raise InputError(
                f"{what} is not YAML: {error.problem}",
                file=file,
                line=line,
                remedy="indent with spaces, and put texts with special characters in quotes",
            ) from error
        except InputError:
            raise
        except (ValueError, yaml.YAMLError, RecursionError) as error:
            # What looks like a date and is none fails with a ValueError.
            raise InputError(
                f"{what} is not YAML: {error}", file=file, remedy="save it as UTF-8, and put dates in quotes"
            ) from error
        if values is None:
            raise InputError(f"{what} is empty", file=file, line=1, remedy=remedy)
        if not isinstance(values, dict):
            raise InputError(f"{what} is not a mapping of keys to values", file=file, line=_line(root), remedy=remedy)
        return cls(file, values, root)

    def line(self, path: YamlPath, *, of_key: bool = False) -> int:
        """Return the line of a value, from 1; of the closest value around it, if the file does not have it.

        Args:
            path: The way to the value.
            of_key: The line of its key instead.
        """
        line, node = _line(self.root), self.root
        for part in path:
            pair = _item(node, part)
            if pair is None:
                continue
            key, node = pair
            line = _line(key if of_key else node)
        return line

    def place(self, path: YamlPath) -> str:
        """Return the way to a value as people read it, such as ``sources[1].limit``, with places counted from 1.

        Args:
            path: The way; parts that the file does not have, such as the branch of a type, are left out.
        """
        shown, node = "", self.root
        for part in path:
            pair = _item(node, part)
            if pair is None:
                continue
            node = pair[1]
            shown += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
        return shown.lstrip(".")


def _item(node: Any, part: str | int) -> tuple[Any, Any] | None:  # noqa: ANN401  # yaml is not typed
    """Return the nodes of a key and its value; of an item of a list, twice its node; None if there is no such part."""
    import yaml

    if isinstance(node, yaml.SequenceNode):
        found = node.value[part] if isinstance(part, int) and part < len(node.value) else None
        return None if found is None else (found, found)
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == str(part)), None)
    return None


def _mappings(root: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield every mapping once: aliases may name one in many places."""
    import yaml

    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            waiting += [value for _, value in node.value]
        else:
            waiting += node.value


def _check_keys(node: Any, file: str, what: str) -> None:  # noqa: ANN401
    seen: set[str] = set()
    for key, _ in node.value:
        name = str(key.value)
        if name in seen:
            raise InputError(
                f"{what} has the key {name!r} twice", file=file, line=_line(key), remedy="remove one of the two"
            )
        seen.add(name)


def _keep_texts(node: Any, texts: Collection[str]) -> None:  # noqa: ANN401
    import yaml

    for key, value in node.value:
        if key.value in texts and isinstance(value, yaml.MappingNode):
            for _, item in value.value:
                if isinstance(item, yaml.ScalarNode):
                    item.tag = _TEXT


def _line(node: Any) -> int:  # noqa: ANN401
    return int(node.start_mark.line) + 1
