"""A store in an object store (S3): conditional puts, leases, and a local cache."""
