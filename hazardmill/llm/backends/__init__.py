"""Backends that answer requests: providers through litellm, recorded answers, or the ledger of an earlier run."""
