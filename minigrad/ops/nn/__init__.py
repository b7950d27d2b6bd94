"""Operations of neural networks: convolution, pooling, losses, norms, attention, embedding, dropout."""
