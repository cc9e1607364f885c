"""Readers of PDDL that are not ours, with their grammars built once: to build one takes longer than any file.

The package ``pddl`` builds it in each call of its functions, Unified Planning in each reader.
"""

from __future__ import annotations

import functools
from typing import Any

from lark import Lark
from pddl.parser import GRAMMAR_FILE, PARSERS_DIRECTORY
from pddl.parser.domain import DomainParser
from pddl.parser.problem import ProblemParser
from unified_planning.environment import get_environment
from unified_planning.io import PDDLReader


@functools.cache
def _grammar(start: str) -> Lark:
    return Lark(GRAMMAR_FILE.read_text(), parser="lalr", import_paths=[PARSERS_DIRECTORY], start=start)


def parse_domain(text: str) -> Any:
    """What the package makes of a domain; raises what it raises."""
    return DomainParser.transformer_cls().transform(_grammar(DomainParser.start_symbol).parse(text))


def parse_problem(text: str) -> Any:
    """The same of a problem."""
    return ProblemParser.transformer_cls().transform(_grammar(ProblemParser.start_symbol).parse(text))


def up_reader() -> PDDLReader:
    """Unified Planning's reader of its global environment. It keeps nothing of what it has read."""
    return _up_reader(get_environment())


@functools.lru_cache(maxsize=1)
def _up_reader(environment: Any) -> PDDLReader:
    return PDDLReader(environment)
