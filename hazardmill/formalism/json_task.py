"""A task whose code holds its document as JSON text: for documents that no ``build`` can express.

The jail holds this module beside ``authoring``, so standard library only.
"""

from __future__ import annotations

import json
from typing import ClassVar

from hazardmill.errors import AuthoringError, DocumentError
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document

__all__ = ["JsonTask"]


class JsonTask(PlanningTask):
    """A task given by its document alone: subclass it, set ``document_json``, and write no ``build``.

    Attributes:
        document_json: The JSON of a document, as ``Document.to_json`` gives it.
    """

    document_json: ClassVar[str] = ""

    def document(self) -> Document:
        """Return the document that ``document_json`` holds.

        Raises:
            AuthoringError: The text is not JSON, or no document.
        """
        try:
            return Document.from_json(json.loads(self.document_json))
        except DocumentError as error:
            raise AuthoringError(f"document_json: {error.message}", remedy=error.remedy) from None
        except (ValueError, TypeError, RecursionError) as error:
            message = f"document_json is not JSON: {error}"
            raise AuthoringError(message, remedy="give it the text of a task document") from None
