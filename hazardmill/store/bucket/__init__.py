"""A store in an object store: conditional puts, leases, and a local cache."""
