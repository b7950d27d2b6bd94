# %% attention_by_hand
attention_by_hand = 0.25 * 4 + 0.75 * 8


# %% attention_repaired
def attention_repaired(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v


# %% attention_causal
def attention_causal(q, k, v):
    n = q.shape[-2]
    later = torch.ones(n, n).triu(1).bool()
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(later, -float("inf")).softmax(-1) @ v


# %% attention_heads
def attention_heads(q, k, v, heads):
    size = q.shape[-1] // heads
    columns = [slice(h * size, (h + 1) * size) for h in range(heads)]
    return torch.cat([attention(q[..., one], k[..., one], v[..., one]) for one in columns], -1)
