"""What runs cost, run by run, as pages of Prefect's artifacts."""
