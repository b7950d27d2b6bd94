# %% layer_weights
layer_weights = [[1.0, -1.0], [5.0, -2.0]]


# %% layer_backward
def layer_backward(x, W, G):
    return G @ W.T, x.T @ G, G.sum(0)


# %% loss_backward
def loss_backward(scores, labels):
    return (scores.softmax(1) - F.one_hot(labels, scores.shape[1])) / len(labels)


# %% network_backward
def network_backward(x, labels, W1, b1, W2, b2):
    h = (x @ W1 + b1).tanh()
    grad_h, grad_W2, grad_b2 = layer_backward(h, W2, loss_backward(h @ W2 + b2, labels))
    _, grad_W1, grad_b1 = layer_backward(x, W1, grad_h * (1 - h**2))
    return grad_W1, grad_b1, grad_W2, grad_b2
