"""Plumbline's engine: text and tensors. It knows neither Django nor Celery, and importing it loads no torch."""
