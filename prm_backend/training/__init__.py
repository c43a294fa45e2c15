"""Labelled solutions in, a checkpoint and a report out. Loads torch: imported only where a model is trained."""
