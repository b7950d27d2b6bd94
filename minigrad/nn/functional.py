"""Functions of neural networks, under torch.nn.functional's names."""

