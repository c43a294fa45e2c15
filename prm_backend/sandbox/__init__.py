"""Processes in which strangers' programs run: shut in by the kernel before they see a line of them.

The half that runs inside uses the standard library alone; `prm_backend.grading.code` starts it and reads what it says.
"""
