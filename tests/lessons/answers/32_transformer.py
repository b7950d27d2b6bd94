# %% right attention_by_hand
attention_by_hand = 7

# %% right attention_by_hand
attention_by_hand = (4 * 1 + 8 * 3) / (1 + 3)

# %% right attention_by_hand
attention_by_hand = torch.tensor([0.0, 3.0]).exp()
attention_by_hand = torch.tensor([1.0, 3.0]).log().softmax(0) @ torch.tensor([4.0, 8.0])

# %% wrong attention_by_hand: plain mean
attention_by_hand = 6.0

# %% wrong attention_by_hand: swapped
attention_by_hand = 5.0

# %% wrong attention_by_hand: divided by their sum
attention_by_hand = 1 * 4 + 3 * 8

# %% wrong attention_by_hand: not right
attention_by_hand = 8.7889

# %% right transformer_size
transformer_size = 8544

# %% right transformer_size
transformer_size = sum(p.numel() for p in Block(32, 64).parameters())

# %% right transformer_size
transformer_size = torch.tensor([p.numel() for p in ready.parameters()]).sum()

# %% wrong transformer_size: biases
transformer_size = 4 * 32 * 32 + 2 * 32 * 64 + 2 * 64

# %% wrong transformer_size: norms are not counted
transformer_size = 4 * (32 * 32 + 32) + 32 * 64 + 64 + 64 * 32 + 32

# %% wrong transformer_size: not right
transformer_size = 8545


# %% right attention_repaired
def attention_repaired(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


# %% right attention_repaired
def attention_repaired(q, k, v):
    weights = (torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5).exp()
    return (weights / weights.sum(-1, keepdim=True)) @ v


# %% right attention_repaired
def attention_repaired(q, k, v):
    scores = (q / q.size(-1) ** 0.25) @ (k / k.size(-1) ** 0.25).transpose(-2, -1)
    return F.softmax(scores, dim=scores.ndim - 1).matmul(v)


# %% wrong attention_repaired: add up to one
def attention_repaired(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.softmax(-2) @ v


# %% wrong attention_repaired: multiplied
def attention_repaired(q, k, v):
    scores = q @ k.mT * q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v


# %% wrong attention_repaired: not by its root
def attention_repaired(q, k, v):
    scores = q @ k.mT / q.shape[-1]
    return scores.softmax(-1) @ v


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
    scores = q @ k.mT / q.shape[-1] ** 0.5
    past = torch.ones(scores.shape[-2:]).tril() > 0
    return torch.where(past, scores, torch.tensor(-1e9)).softmax(-1) @ v


# %% right attention_causal
def attention_causal(q, k, v):
    rows = [attention(q[..., i : i + 1, :], k[..., : i + 1, :], v[..., : i + 1, :]) for i in range(q.shape[-2])]
    return torch.cat(rows, -2)


# %% right attention_causal
def attention_causal(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).exp().tril()
    return weights / weights.sum(-1, keepdim=True) @ v


# %% wrong attention_causal: they look ahead
def attention_causal(q, k, v):
    return attention(q, k, v)


# %% wrong attention_causal: before softmax
def attention_causal(q, k, v):
    return attention_weights(q, k).tril() @ v


# %% wrong attention_causal: they look ahead
def attention_causal(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.tril().softmax(-1) @ v


# %% wrong attention_causal: they look ahead
def attention_causal(q, k, v):
    n = q.shape[-2]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(torch.ones(n, n).tril(-1).bool(), -float("inf")).softmax(-1) @ v


# %% wrong attention_causal: not divided
def attention_causal(q, k, v):
    ahead = torch.full((q.shape[-2], q.shape[-2]), -float("inf")).triu(1)
    return (q @ k.mT + ahead).softmax(-1) @ v


# %% right attention_causal
def attention_causal(q, k, v):
    past = torch.ones(q.shape[-2], q.shape[-2]).tril().bool()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=past)


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


# %% right attention_heads
def attention_heads(q, k, v, heads):
    size = q.shape[2] // heads
    by_head = torch.vmap(attention, in_dims=2, out_dims=2)
    return by_head(*(t.unflatten(2, (heads, size)) for t in (q, k, v))).flatten(2)


# %% right attention_heads
def attention_heads(q, k, v, heads):
    size, result = q.shape[-1] // heads, torch.zeros(q.shape)
    for h in range(heads):
        one = slice(h * size, h * size + size)
        result[..., one] = F.scaled_dot_product_attention(q[..., one], k[..., one], v[..., one])
    return result


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


# %% wrong attention_heads: one head
def attention_heads(q, k, v, heads):
    size = q.shape[-1] // heads
    return attention(q, k, torch.cat([v[..., h * size : (h + 1) * size] for h in range(heads)], -1))


# %% wrong attention_heads: expected
def attention_heads(q, k, v, heads):
    size = q.shape[-1] // heads
    return torch.cat([attention(q[..., :size], k[..., :size], v[..., :size])] * heads, -1)
