"""What several tests and benchmarks make their inputs with."""
