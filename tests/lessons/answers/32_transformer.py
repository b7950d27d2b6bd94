# %% values attention_by_hand
7  # right
(4 * 1 + 8 * 3) / (1 + 3)  # right
6.0  # plain mean
5.0  # swapped
1 * 4 + 3 * 8  # divided by their sum
8.7889  # not right


# %% right attention_repaired
def attention_repaired(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


# %% right attention_repaired
def attention_repaired(q, k, v):
    weights = (torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5).exp()
    return (weights / weights.sum(-1, keepdim=True)) @ v


# %% wrong attention_repaired: add up to one
# -     return scores.softmax(-1) @ v
# +     return scores.softmax(-2) @ v

# %% wrong attention_repaired: multiplied
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT * q.shape[-1] ** 0.5

# %% wrong attention_repaired: not by its root
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT / q.shape[-1]


# %% wrong attention_repaired: not divided
def attention_repaired(q, k, v):
    return (q @ k.mT).softmax(-1) @ v


# %% wrong attention_repaired: return
def attention_repaired(q, k, v):
    (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


# %% right attention_causal
def attention_causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


# %% right attention_causal
def attention_causal(q, k, v):
    rows = [attention(q[..., i : i + 1, :], k[..., : i + 1, :], v[..., : i + 1, :]) for i in range(q.shape[-2])]
    return torch.cat(rows, -2)


# %% wrong attention_causal: they look ahead
def attention_causal(q, k, v):
    return attention(q, k, v)


# %% wrong attention_causal: before softmax
def attention_causal(q, k, v):
    return attention_weights(q, k).tril() @ v


# %% wrong attention_causal: not divided
def attention_causal(q, k, v):
    ahead = torch.full((q.shape[-2], q.shape[-2]), -float("inf")).triu(1)
    return (q @ k.mT + ahead).softmax(-1) @ v


# %% wrong attention_causal: at itself
def attention_causal(q, k, v):
    n = q.shape[-2]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(torch.ones(n, n).triu(0).bool(), -float("inf")).softmax(-1) @ v


# %% right attention_heads
def attention_heads(q, k, v, heads):
    n, length, width = q.shape
    parts = [t.reshape(n, length, heads, width // heads).transpose(1, 2) for t in (q, k, v)]
    return attention(*parts).transpose(1, 2).reshape(n, length, width)


# %% right attention_heads
def attention_heads(q, k, v, heads):
    return torch.cat([attention(*one) for one in zip(*(t.chunk(heads, dim=-1) for t in (q, k, v)))], dim=2)


# %% wrong attention_heads: one head
def attention_heads(q, k, v, heads):
    return attention(q, k, v)


# %% wrong attention_heads: own width
def attention_heads(q, k, v, heads):
    q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
    weights = (q @ k.mT / (heads * q.shape[-1]) ** 0.5).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


# %% wrong attention_heads: shape
def attention_heads(q, k, v, heads):
    q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
    return attention(q, k, v)


# %% wrong attention_heads: expected
def attention_heads(q, k, v, heads):
    q, k, v = (t.reshape(t.shape[0], heads, t.shape[1], -1) for t in (q, k, v))
    return attention(q, k, v).transpose(1, 2).flatten(2)
