"""Who reviews what: sampling, queues, and planted defects."""
