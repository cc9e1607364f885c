"""Backends that installed packages add: which models they answer for, and how a run opens them.

A backend called ``echo`` answers for all models named ``echo/...``. It never takes over the models of a provider that
litellm knows.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
from typing import Final

from hazardmill.errors import HazardmillError, ProviderError, RunStopped, SettingsError
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Backend, Completion, Request
from hazardmill.plugins import BrokenPlugin, Plugin, PluginSearch, find_plugins
from hazardmill.text.suggestions import unknown_name

OWN_BACKENDS: Final = ("litellm", "offline", "recorded", "replay")
"""Names of hazardmill's own backends."""


def find_backends() -> PluginSearch:
    """Return the backends of installed packages, without those named like one of hazardmill's or of litellm's."""
    search = find_plugins("backend", dict.fromkeys(OWN_BACKENDS, "a backend of hazardmill"))
    if not search.found or importlib.util.find_spec("litellm") is None:
        return search
    from hazardmill.llm.backends.litellm import load_litellm

    # An enumeration of texts.
    providers = {str(getattr(provider, "value", provider)) for provider in load_litellm().provider_list}
    taken = [plugin for name, plugin in search.found.items() if name in providers]
    broken = [BrokenPlugin(each.name, each.error("its name is taken by a provider of litellm")) for each in taken]
    found = {name: plugin for name, plugin in search.found.items() if plugin not in taken}
    return PluginSearch(found, (*search.broken, *broken))


def plugin_backend_of(model: str) -> str | None:
    """Return the name of the package's backend that answers for a model; None for a model that litellm reaches.

    Args:
        model: The model, ``backend/name``.
    """
    name = model.partition("/")[0]
    # Most runs have no such plugin; then litellm need not be imported.
    if "/" not in model or name not in find_plugins("backend").found:
        return None
    return name if name in find_backends().found else None


def open_plugin_backend(name: str, access: ModelAccess) -> Backend:
    """Return an opened backend of an installed package.

    Args:
        name: Its name.
        access: How the run reaches its models; what the package's function is called with.

    Raises:
        UnknownName: No installed package has such a backend.
        PluginError: It cannot be used.
        HazardmillError: The package's function raised it, such as ``SettingsError`` where a key is missing.
    """  # noqa: DOC501  # the helper makes an UnknownName
    search = find_backends()
    plugin = search.get(name)
    if plugin is None:
        raise unknown_name(
            f"there is no backend {name!r}",
            name,
            [*OWN_BACKENDS, *search.found],
            remedy="install the package that the run was started with: `made_with` of the run names it",
        )
    return PluginBackend(plugin, access)


class PluginBackend:
    """The backend of an installed package, held to what ``Backend`` promises.

    An error that the package's code raises by mistake would end the run as a bug of hazardmill; here it becomes a
    ``ProviderError`` that names the package, and the run can be resumed.

    Args:
        plugin: The entry point.
        access: How the run reaches its models.

    Raises:
        PluginError: It does not load, or what it opens is no backend of this name.
        HazardmillError: The package's function raised it.
    """  # ruff does not follow `raise plugin.error(...)`

    def __init__(self, plugin: Plugin, access: ModelAccess) -> None:
        make = plugin.load()
        if not callable(make):
            raise plugin.error(f"{make!r} cannot be called with the access to models")
        try:
            backend = make(access)
        except HazardmillError:
            raise
        except Exception as error:
            # Not chained: the text of a foreign error may hold a key.
            failure = scrub(f"{type(error).__name__}: {error}")
            raise plugin.error(f"it cannot be opened: {failure}") from None
        for method in ("complete", "close"):
            if not inspect.iscoroutinefunction(getattr(backend, method, None)):
                raise plugin.error(f"{type(backend).__name__} has no `async def {method}`")
        name, host = getattr(backend, "name", None), getattr(backend, "host", ...)
        if name != plugin.name:
            raise plugin.error(f"its `name` is {name!r}, and its entry point is called {plugin.name!r}")
        if host is not None and not isinstance(host, str):
            raise plugin.error("its `host` is neither a text nor None")
        self.name: str = plugin.name
        self.host: str | None = host
        self.charges = bool(getattr(backend, "charges", True))
        self.metered = bool(getattr(backend, "metered", False))
        self._plugin, self._backend = plugin, backend

    async def complete(self, request: Request) -> Completion:
        """Return the answer to one request, asked for in one attempt.

        Raises:
            ProviderError: The backend raised it, or fails in another way, or gives something else than a completion.
            RunStopped: The backend raised it.
            SettingsError: The backend raised it.
        """
        try:
            completion = await self._backend.complete(request)
        except (ProviderError, RunStopped, SettingsError):
            raise
        except Exception as error:
            # Not chained: the text of a foreign error may hold a key.
            failure = scrub(f"{type(error).__name__}: {error}")
        else:
            if isinstance(completion, Completion):
                return completion
            failure = f"its answer is a {type(completion).__name__}, not a Completion"
        raise ProviderError(
            f"the backend {self.name} of package {self._plugin.origin} failed: {failure}",
            record_id=request.record_id,
            remedy=f"report it to the authors of {self._plugin.package}; the run can be resumed",
        )

    async def close(self) -> None:
        """Release what the backend holds. An error is not worth losing the end of a run for, and is left alone."""
        with contextlib.suppress(Exception):
            await self._backend.close()
