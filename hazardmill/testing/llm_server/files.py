"""Files of a client, in memory: how they are uploaded, and what the server says of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from typing import Any

from hazardmill.testing.llm_server.chat_request import ChatRefusal


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file, uploaded by a client or written by the server for it.

    Attributes:
        purpose: ``batch``, or ``batch_output`` for what the server wrote.
        created_at: Seconds since 1970.
    """

    id: str
    name: str
    purpose: str
    content: bytes
    created_at: int

    @property
    def info(self) -> dict[str, Any]:
        """What the API says of the file."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": self.created_at,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


class FileStore:
    """The files of one server."""

    def __init__(self) -> None:
        self._files: dict[str, StoredFile] = {}
        self._made = 0

    def add(self, name: str, purpose: str, content: bytes) -> StoredFile:
        """Store a file under a new id."""
        self._made += 1
        file = StoredFile(f"file-{self._made:06d}", name, purpose, content, int(time.time()))
        self._files[file.id] = file
        return file

    def get(self, file_id: str) -> StoredFile:
        """Return a file.

        Raises:
            ChatRefusal: There is no such file.
        """
        if (file := self._files.get(file_id)) is None:
            raise ChatRefusal(404, "there is no such file", "not_found")
        return file

    def delete(self, file_id: str) -> None:
        """Forget a file.

        Raises:
            ChatRefusal: There is no such file.
        """
        del self._files[self.get(file_id).id]

    @property
    def files(self) -> list[StoredFile]:
        """All files, newest first."""
        return list(reversed(self._files.values()))


def read_upload(content_type: str, body: bytes) -> tuple[str, str, bytes]:
    """Return name, purpose and content of an uploaded file.

    Args:
        content_type: The header of the request: ``multipart/form-data`` with a boundary (RFC 7578).
        body: The whole body.

    Raises:
        ChatRefusal: It is not such a form, or a field is missing.
    """
    boundary = _header("Content-Type", content_type).get_param("boundary", header="Content-Type")
    if not content_type.lower().startswith("multipart/form-data") or not isinstance(boundary, str):
        raise ChatRefusal(400, "a file is uploaded as multipart/form-data")
    fields: dict[str, tuple[str, bytes]] = {}
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary.encode())[1:-1]:
        head, blank, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        headers = HeaderParser().parsestr(head.decode("latin-1"))
        name = headers.get_param("name", header="Content-Disposition")
        if blank and isinstance(name, str):
            fields[name] = (str(headers.get_filename() or ""), content)
    if "file" not in fields or "purpose" not in fields:
        raise ChatRefusal(400, "the form must have the fields file and purpose")
    return fields["file"][0], fields["purpose"][1].decode("utf-8", "replace"), fields["file"][1]


def _header(name: str, value: str) -> Message:
    return HeaderParser().parsestr(f"{name}: {value}\n\n")
