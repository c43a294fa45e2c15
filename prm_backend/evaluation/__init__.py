"""Is it better? Figures out of scores and labels, pure arithmetic: no model is run here."""
