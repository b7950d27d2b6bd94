"""Probability distributions, under torch.distributions's names."""
