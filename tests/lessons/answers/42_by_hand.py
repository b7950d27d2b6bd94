# %% values layer_weights
[[1, -1], [5, -2]]  # right
torch.tensor([[1.0, 2.0], [0.0, 1.0]]).T @ torch.tensor([[1.0, -1.0], [3.0, 0.0]])  # right
[[7, -1], [3, 0]]  # that is x @ G
[[1, 5], [-1, -2]]  # transposed
[[0.5, -0.5], [2.5, -1.0]]  # mean
[[1, -1], [5, 2]]  # not right
5  # expected 4 numbers


# %% wrong layer_backward: runs autograd
def layer_backward(x, W, G):
    x, W, b = x.detach().requires_grad_(), W.detach().requires_grad_(), torch.zeros(G.shape[1], requires_grad=True)
    return torch.autograd.grad(x @ W + b, (x, W, b), G)


# %% changes layer_backward
# return G @ W.T, x.T @ G, G.sum(0)
#   -> return torch.einsum("nk,ik->ni", G, W), torch.einsum("ni,nk->ik", x, G), torch.ones(len(G)) @ G  # right
# G @ W.T, x.T @ G -> (W @ G.T).T, sum(torch.outer(a, g) for a, g in zip(x, G))  # right
# return G @ W.T, x.T @ G, G.sum(0) -> return G @ W.T, G.T @ x, G.sum(0)  # W is transposed
# return G @ W.T, x.T @ G, G.sum(0) -> return G @ W.T, x.T @ G, G  # not summed over the broadcast dimension
# return G @ W.T, x.T @ G, G.sum(0) -> return G @ W.T, x.T @ G / len(x), G.sum(0)  # the gradient of W
# return G @ W.T, x.T @ G, G.sum(0) -> return G @ W.T, x.T @ G, G.mean(0)  # the gradient of b has to be
# return G @ W.T, x.T @ G, G.sum(0) -> return x.T @ G, G @ W.T, G.sum(0)  # the gradient of x
# return G @ W.T, x.T @ G, G.sum(0) -> return G @ W.T, x.T @ G  # a tuple with the gradients of x, W, b
# return G @ W.T, x.T @ G, G.sum(0) -> return G @ W.T, x.T @ G, None  # is None, expected a tensor

# %% right loss_backward
# -     return (scores.softmax(1) - F.one_hot(labels, scores.shape[1])) / len(labels)
# +     p = scores.exp() / scores.exp().sum(1, keepdim=True)
# +     p[torch.arange(len(labels)), labels] -= 1
# +     return p / len(labels)

# %% changes loss_backward
# return (scores.softmax(1) - F.one_hot(labels, scores.shape[1])) / len(labels)
#   -> return scores.softmax(1) - F.one_hot(labels, scores.shape[1])  # times as large
# return (scores.softmax(1) - F.one_hot(labels, scores.shape[1])) / len(labels)
#   -> return (F.one_hot(labels, scores.shape[1]) - scores.softmax(1)) / len(labels)  # wrong sign
# (scores.softmax(1) - F.one_hot(labels, scores.shape[1])) -> scores.softmax(1)  # subtract 1
# scores.softmax(1) -> scores.softmax(0)  # along dimension 1
# scores.softmax(1) -> scores  # the gradient of the scores
# return (scores.softmax(1) - F.one_hot(labels, scores.shape[1])) / len(labels)
#   -> leaf = scores.detach().requires_grad_(); F.cross_entropy(leaf, labels).backward(); return leaf.grad  # runs autograd
# return (scores.softmax(1) - F.one_hot(labels, scores.shape[1])) / len(labels)
#   -> scores.softmax(1) - F.one_hot(labels, scores.shape[1])  # expected numbers


# %% wrong network_backward: runs autograd
def network_backward(x, labels, *parameters):
    W1, b1, W2, b2 = leaves = [p.detach().requires_grad_() for p in parameters]
    return torch.autograd.grad(F.cross_entropy((x @ W1 + b1).tanh() @ W2 + b2, labels), leaves)


# %% changes network_backward
# grad_h, grad_W2, grad_b2 = layer_backward(h, W2, loss_backward(h @ W2 + b2, labels))
#   -> G = ((h @ W2 + b2).softmax(1) - F.one_hot(labels, len(b2))) / len(x)
#   _, grad_W1, grad_b1 = layer_backward(x, W1, grad_h * (1 - h**2)) -> H = (G @ W2.T) * (1 - h * h)
#   return grad_W1, grad_b1, grad_W2, grad_b2 -> return x.T @ H, H.sum(0), h.T @ G, G.sum(0)  # right
# grad_h * (1 - h**2) -> grad_h / torch.cosh(x @ W1 + b1) ** 2  # right
# grad_h * (1 - h**2) -> grad_h  # multiply that by the slope of tanh
# h**2 -> h  # the gradient of W1
# return grad_W1, grad_b1, grad_W2, grad_b2 -> return grad_W2, grad_b2, grad_W1, grad_b1  # the gradient of W1
# return grad_W1, grad_b1, grad_W2, grad_b2 -> return grad_W1, grad_W2  # gradients of W1, b1, W2, b2
