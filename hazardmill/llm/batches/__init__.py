"""Provider batches and exchange folders: rounds of requests that are answered together, hours later, for less."""
