"""States of models and optimizers."""
