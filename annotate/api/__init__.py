"""The same verbs for scripts: JSON in and out, one kind of token, one shape of error. Holds no rules of its own."""
