"""Text: solutions cut into steps, steps into tokens, and the record formats others use. No models."""
