"""Tasks as problems of Unified Planning."""
