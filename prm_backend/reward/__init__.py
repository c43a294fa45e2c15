"""Scores for steps and solutions. `aggregation` is pure; `prm` loads torch and is imported only where a model runs."""
