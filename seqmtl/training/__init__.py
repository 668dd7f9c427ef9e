"""From examples to a model: settings, cross-validation, selection, training from disk."""
