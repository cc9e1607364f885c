"""A hub of datasets on this machine for Hugging Face's own client, which fails as scripted.

    with HubServer(folder, faults=ScriptedFaults({"commit": "500-after"})) as server:
        ...  # HF_ENDPOINT is server.address, HF_TOKEN is WRITE_TOKEN
    server.hub.repository("acme/tasks").commits, server.requests

``docs/hub-server.md`` describes what it answers and how it fails. ``python -m hazardmill.testing.hub_server`` runs it
as a command.

    repositories.py  objects, commits and tags, kept in a folder
    answers.py       the routes of requests, and the form of answers
    endpoints.py     what each endpoint answers
    faults.py        the kinds of fault, and scripts for them
    lies.py          answers with wrong content
    journal.py       every request, in memory and on disk
    wire.py          HTTP/1.1 on one connection
    server.py        the server
"""

from hazardmill.testing.hub_server.answers import Account
from hazardmill.testing.hub_server.faults import (
    Endpoint,
    FaultPlan,
    HubFault,
    HubFaultKind,
    PlannedRequest,
    ScriptedHubFaults,
)
from hazardmill.testing.hub_server.journal import JournaledRequest, read_journal
from hazardmill.testing.hub_server.repositories import Commit, Hub, Repository, TreeEntry
from hazardmill.testing.hub_server.server import READ_TOKEN, WRITE_TOKEN, HubServer

__all__ = [
    "READ_TOKEN",
    "WRITE_TOKEN",
    "Account",
    "Commit",
    "Endpoint",
    "FaultPlan",
    "Hub",
    "HubFault",
    "HubFaultKind",
    "HubServer",
    "JournaledRequest",
    "PlannedRequest",
    "Repository",
    "ScriptedHubFaults",
    "TreeEntry",
    "read_journal",
]
