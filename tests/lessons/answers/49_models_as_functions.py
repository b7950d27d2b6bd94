# %% values models_shape
(7, 3, 2)  # right
torch.ones(7, 3, 2).shape  # right
[3, 7, 2]  # models come first
[7, 3, 5]  # 5 numbers into 2
[3, 2]  # one model
[7, 2]  # three examples
[21, 2]  # adds a dimension
[7, 2, 5]  # stacked weights
[2, 3, 7]  # is not right
42  # expected 3 numbers
"7, 3, 2"  # list of 3 numbers

# %% right models_gradient_norms
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     return torch.cat([g.reshape(len(xs), -1) for g in gradients.values()], 1).norm(dim=1)


# %% right models_gradient_norms
def models_gradient_norms(net, xs, ys):
    params = {name: p.detach() for name, p in net.named_parameters()}

    def length(x, y):
        found = grad(lambda params: (functional_call(net, params, x) - y).square().sum())(params)
        return torch.stack([(g * g).sum() for g in found.values()]).sum().sqrt()

    return vmap(length)(xs, ys)


# %% wrong models_gradient_norms: take the root
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     return sum(g.flatten(1).square().sum(1) for g in gradients.values())

# %% wrong models_gradient_norms: take one root
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     return sum(g.flatten(1).norm(dim=1) for g in gradients.values())

# %% wrong models_gradient_norms: last parameter alone
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     return [g.flatten(1).norm(dim=1) for g in gradients.values()][-1]

# %% wrong models_gradient_norms: first parameter alone
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     return gradients["0.weight"].flatten(1).norm(dim=1)

# %% wrong models_gradient_norms: lengths for 4 examples
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     return sum(g.square().sum() for g in gradients.values()).sqrt()

# %% wrong models_gradient_norms: half the loss
# -         return ((functional_call(net, params, (x,)) - y) ** 2).sum()
# +         return ((functional_call(net, params, (x,)) - y) ** 2).mean()

# %% wrong models_gradient_norms: a loop
# -     gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys)
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     each = [grad(loss)(params, x, y) for x, y in zip(xs, ys)]
# +     return torch.stack([sum(g.square().sum() for g in one.values()).sqrt() for one in each])

# %% wrong models_gradient_norms: vmap
# -     gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys)
# +     gradients = vmap(grad(loss))(params, xs, ys)

# %% wrong models_gradient_norms: changes 0.weight
# -     params = {name: p.detach() for name, p in net.named_parameters()}
# +     params = {name: p.detach().clone() for name, p in net.named_parameters()}
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     with torch.no_grad():
# +         net[0].weight.mul_(2)
# +     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()

# %% wrong models_gradient_norms: leaves a gradient in 0.weight
# -     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
# +     ((net(xs) - ys) ** 2).sum().backward()
# +     return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()


# %% right models_step
def models_step(net, params, x, y, rate):
    def loss(params):
        return (functional_call(net, params, (x,)) - y).square().mean()

    return {name: params[name] - rate * g for name, g in grad(loss)(params).items()}


# %% right models_step
def models_step(net, params, x, y, rate):
    leaves = {name: p.detach().clone().requires_grad_() for name, p in params.items()}
    loss = ((functional_call(net, leaves, x) - y) ** 2).mean()
    found = torch.autograd.grad(loss, list(leaves.values()))
    return {name: p - rate * g for (name, p), g in zip(params.items(), found)}


# %% wrong models_step: uphill
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     return {name: p + rate * gradients[name] for name, p in params.items()}

# %% wrong models_step: of net, not of params
# -         return ((functional_call(net, params, (x,)) - y) ** 2).mean()
# -
# -     gradients = grad(loss)(params)
# +         return ((functional_call(net, params, (x,)) - y) ** 2).mean()
# +
# +     gradients = grad(loss)({name: p.detach() for name, p in net.named_parameters()})

# %% wrong models_step: not the sum
# -         return ((functional_call(net, params, (x,)) - y) ** 2).mean()
# +         return ((functional_call(net, params, (x,)) - y) ** 2).sum()

# %% wrong models_step: expected a dict
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     return [p - rate * gradients[name] for name, p in params.items()]

# %% wrong models_step: has changed
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     return {name: p.sub_(rate.detach() * gradients[name]) for name, p in params.items()}

# %% wrong models_step: cut the graph
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     return {name: p - rate.item() * gradients[name] for name, p in params.items()}

# %% wrong models_step: multiply it by rate
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     return {name: p - gradients[name] for name, p in params.items()}

# %% wrong models_step: expected a dict
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     return gradients.values()

# %% wrong models_step: the step alone
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     return {name: -rate * gradients[name] for name, p in params.items()}

# %% wrong models_step: changes 0.weight
# -     return {name: p - rate * gradients[name] for name, p in params.items()}
# +     with torch.no_grad():
# +         net[0].weight.sub_(rate)
# +     return {name: p - rate * gradients[name] for name, p in params.items()}
