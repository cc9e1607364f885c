"""A group of commands whose modules are imported when a command is called, so that help is quick."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from hazardmill.text.suggestions import similar_names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is called.

    Args:
        addresses: Maps the name of a command to its address (``package.module:attribute``) and its line in the group's
            help, which is never cut off: it must fit into a terminal of 80 columns.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401  # those of click.Group
        addresses: Mapping[str, tuple[str, str]],
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **options)
        self.addresses = addresses

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, sorted."""
        return sorted(self.addresses)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if the group has none of that name."""
        if cmd_name not in self.addresses:
            return None
        module, _, attribute = self.addresses[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the commands and options that begin so, without importing the commands."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=self.addresses[name][1]) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; refuse an unknown one with those that are spelled alike."""
        name = args[0]
        if name not in self.addresses and not name.startswith("-") and not ctx.resilient_parsing:
            near = similar_names(name, self.addresses)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {' or '.join(near)}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.addresses[name][1]) for name in self.list_commands(ctx)])
