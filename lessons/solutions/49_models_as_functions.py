# %% models_shape
models_shape = [7, 3, 2]


# %% models_gradient_norms
def models_gradient_norms(net, xs, ys):
    def loss(params, x, y):
        return ((functional_call(net, params, (x,)) - y) ** 2).sum()

    params = {name: p.detach() for name, p in net.named_parameters()}
    gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys)
    return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()


# %% models_step
def models_step(net, params, x, y, rate):
    def loss(params):
        return ((functional_call(net, params, (x,)) - y) ** 2).mean()

    gradients = grad(loss)(params)
    return {name: p - rate * gradients[name] for name, p in params.items()}
