"""A closing action: the last one of each plan, so that what it reads is the state that the plan leaves behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hazardmill.formalism.document.document import ActionDecl, Effect
from hazardmill.formalism.document.expressions import Expr


def with_closing_action(
    actions: Iterable[ActionDecl], closing: str, closed: str, precondition: Expr = True
) -> list[ActionDecl]:
    """Return the actions of a document with one more, which nothing can follow.

    Args:
        actions: The actions of the document.
        closing: Name of the closing action, which no other has.
        closed: Name of a fluent without parameters, which only the closing action makes true. The goal has to demand
            it, or plans need not be closed.
        precondition: What the closing action demands besides.
    """
    is_closed: Expr = ("fluent", closed)
    open_: Expr = ("not", is_closed)
    bound = [replace(action, precondition=("and", action.precondition, open_)) for action in actions]
    demanded = open_ if precondition is True else ("and", precondition, open_)
    return [*bound, ActionDecl(closing, (), demanded, (Effect("assign", is_closed, True),))]
