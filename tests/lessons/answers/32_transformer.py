# %% values attention_by_hand
7  # right
(4 * 1 + 8 * 3) / (1 + 3)  # right
6.0  # plain mean
5.0  # swapped
1 * 4 + 3 * 8  # divided by their sum
8.7889  # not right

# %% changes attention_repaired
# drop scores = q @ k.mT / q.shape[-1] ** 0.5
#   return scores.softmax(-1) @ v -> return F.scaled_dot_product_attention(q, k, v)  # right
# scores = q @ k.mT / q.shape[-1] ** 0.5
#   -> weights = (torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5).exp()
#   return scores.softmax(-1) @ v -> return (weights / weights.sum(-1, keepdim=True)) @ v  # right
# return scores.softmax(-1) @ v -> return scores.softmax(-2) @ v  # add up to one
# scores = q @ k.mT / q.shape[-1] ** 0.5 -> scores = q @ k.mT * q.shape[-1] ** 0.5  # multiplied
# scores = q @ k.mT / q.shape[-1] ** 0.5 -> scores = q @ k.mT / q.shape[-1]  # not by its root
# drop scores = q @ k.mT / q.shape[-1] ** 0.5
#   return scores.softmax(-1) @ v -> return (q @ k.mT).softmax(-1) @ v  # not divided
# drop scores = q @ k.mT / q.shape[-1] ** 0.5
#   return scores.softmax(-1) @ v -> (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v  # return


# %% right attention_causal
def attention_causal(q, k, v):
    rows = [attention(q[..., i : i + 1, :], k[..., : i + 1, :], v[..., : i + 1, :]) for i in range(q.shape[-2])]
    return torch.cat(rows, -2)


# %% changes attention_causal
# drop rows = [attention(q[..., i : i + 1, :], k[..., : i + 1, :], v[..., : i + 1, :]) for i in range(q.shape[-2])]
#   return torch.cat(rows, -2) -> return attention(q, k, v)  # they look ahead
# drop rows = [attention(q[..., i : i + 1, :], k[..., : i + 1, :], v[..., : i + 1, :]) for i in range(q.shape[-2])]
#   return torch.cat(rows, -2) -> return attention_weights(q, k).tril() @ v  # before softmax
# rows = [attention(q[..., i : i + 1, :], k[..., : i + 1, :], v[..., : i + 1, :]) for i in range(q.shape[-2])]
#   -> ahead = torch.full((q.shape[-2], q.shape[-2]), -float("inf")).triu(1)
#   return torch.cat(rows, -2) -> return (q @ k.mT + ahead).softmax(-1) @ v  # not divided
# drop later = torch.ones(n, n).triu(1).bool()
#   later, -> torch.ones(n, n).triu(0).bool(),  # at itself


# %% right attention_heads
def attention_heads(q, k, v, heads):
    return torch.cat([attention(*one) for one in zip(*(t.chunk(heads, dim=-1) for t in (q, k, v)))], dim=2)


# %% wrong attention_heads: own width
def attention_heads(q, k, v, heads):
    q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
    weights = (q @ k.mT / (heads * q.shape[-1]) ** 0.5).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


# %% wrong attention_heads: expected
def attention_heads(q, k, v, heads):
    q, k, v = (t.reshape(t.shape[0], heads, t.shape[1], -1) for t in (q, k, v))
    return attention(q, k, v).transpose(1, 2).flatten(2)


# %% changes attention_heads
# return torch.cat([attention(*one) for one in zip(*(t.chunk(heads, dim=-1) for t in (q, k, v)))], dim=2)
#   -> return attention(q, k, v)  # one head
# drop weights = (q @ k.mT / (heads * q.shape[-1]) ** 0.5).softmax(-1)
#   return (weights @ v).transpose(1, 2).flatten(2) -> return attention(q, k, v)  # shape
