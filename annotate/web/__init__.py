"""The pages: each view parses, makes one call and renders one template. Rules live in verbs and models."""
