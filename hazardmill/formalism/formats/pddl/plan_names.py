"""A document as PDDL in which plans keep their names."""

from __future__ import annotations

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.names import pddl_names
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl


def pddl_texts(document: Document) -> tuple[str, str]:
    """Return the PDDL domain and problem of a document, in which actions and objects have their own names.

    Fluents and types may be renamed, because domains have predicates and actions of one name. What plans name may not.
    There is no trace of dangers.

    Args:
        document: The document.

    Raises:
        NotExpressible: PDDL cannot express it, or not with its names of actions and objects.
    """
    renames = pddl_names(document, rename=True, dangers=False).renames()
    rename = not renames.keys() & {"actions", "objects"}
    return domain_pddl(document, rename=rename), problem_pddl(document, rename=rename)
