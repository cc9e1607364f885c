"""Creates and updates the automations of ``automations/`` at the server.

A file is what Prefect reads, with two additions, because ids differ from server to server: the action
``send-notification`` names its block (``block: NAME``), and ``run-deployment`` its deployment (``deployment:
FLOW/NAME``). A notification whose block does not exist is left out. Blocks of the type Webhook get the same subject and
body as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import yaml
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import BlockDocument
from prefect.events.schemas.automations import AutomationCore

from hazardmill.errors import UsageError

FOLDER: Final = Path(__file__).resolve().parent.parent / "automations"

STARTED: Final = "resume-crashed/default"
"""The deployment that automations start."""

_HOW: Final = (
    "to be notified, create a block of that name in the UI (Blocks: Slack, Webhook, mail and others), then make deploy"
)


def read_automation(
    path: Path, blocks: Mapping[str, BlockDocument], deployments: Mapping[str, UUID]
) -> AutomationCore | str:
    """Return the automation of a file, or the name of a block that it needs and that does not exist.

    Args:
        path: The file.
        blocks: Blocks of the server by name.
        deployments: Ids of the server's deployments by ``FLOW/NAME``.

    Raises:
        UsageError: It starts a deployment that does not exist.
    """
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    actions = []
    for action in content["actions"]:
        deployment = action.pop("deployment", None)
        if deployment is not None:
            if deployment not in deployments:
                raise UsageError(f"{path}: there is no deployment {deployment}", remedy="run make deploy")
            action["deployment_id"] = str(deployments[deployment])
        name = action.pop("block", None)
        if name is not None and name not in blocks:
            return str(name)
        actions.append(action if name is None else _notification(action, blocks[name]))
    return AutomationCore.model_validate({**content, "actions": actions})


def _notification(action: dict[str, Any], block: BlockDocument) -> dict[str, Any]:
    if block.block_type is not None and block.block_type.slug == "webhook":
        return {"type": "call-webhook", "block_document_id": str(block.id), "payload": json_template(action)}
    return {**action, "block_document_id": str(block.id)}


def json_template(action: Mapping[str, str]) -> str:
    """Return a template of a JSON object of subject and body, whatever the values in them contain."""
    names = ("subject", "body")
    texts = "".join(f"{{% set {name} %}}{action[name].rstrip()}{{% endset %}}" for name in names)
    return texts + "{" + ", ".join(f'"{name}": {{{{ {name}|string|tojson }}}}' for name in names) + "}"


async def deploy_automations(folder: Path = FOLDER) -> list[str]:
    """Create or update every automation of a folder; one that was switched off stays off.

    Returns:
        What was done, a line per automation or block that is missing.
    """
    lines, missing = list[str](), dict[str, list[str]]()
    async with get_client() as client:
        blocks = {block.name: block for block in await _all_blocks(client) if block.name}
        deployments = {STARTED: (await client.read_deployment_by_name(STARTED)).id}
        for path in sorted(folder.glob("*.yaml")):
            automation = read_automation(path, blocks, deployments)
            if isinstance(automation, str):
                missing.setdefault(automation, []).append(path.stem)
                continue
            lines.append(await _deploy(client, automation))
    lines += [f"left out {', '.join(names)}: no block {block}; {_HOW}" for block, names in missing.items()]
    return lines


async def _all_blocks(client: PrefectClient) -> list[BlockDocument]:
    found, size = list[BlockDocument](), 200
    while True:
        page = await client.read_block_documents(offset=len(found), limit=size, include_secrets=False)
        found += page
        if len(page) < size:
            return found


async def _deploy(client: PrefectClient, automation: AutomationCore) -> str:
    present = await client.read_automations_by_name(automation.name)
    if not present:
        await client.create_automation(automation)
        return f"created {automation.name}"
    enabled = present[0].enabled
    await client.update_automation(present[0].id, automation.model_copy(update={"enabled": enabled}))
    return f"updated {automation.name}" + ("" if enabled else ", which is switched off")
