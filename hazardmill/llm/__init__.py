"""Language models: requests with an identity, backends, ledger, prices and limits; no provider is imported here."""
