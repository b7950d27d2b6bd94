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
def models_gradient_norms(net, xs, ys):
    params = {name: p.detach() for name, p in net.named_parameters()}

    def length(x, y):
        found = grad(lambda params: (functional_call(net, params, x) - y).square().sum())(params)
        return torch.stack([(g * g).sum() for g in found.values()]).sum().sqrt()

    return vmap(length)(xs, ys)


# %% wrong models_gradient_norms: changes 0.weight
# -     params = {name: p.detach() for name, p in net.named_parameters()}
# +     params = {name: p.detach().clone() for name, p in net.named_parameters()}
#       gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys)
# +     with torch.no_grad():
# +         net[0].weight.mul_(2)

# %% changes models_gradient_norms
# return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
#   -> return torch.cat([g.reshape(len(xs), -1) for g in gradients.values()], 1).norm(dim=1)  # right
# return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
#   -> return sum(g.flatten(1).square().sum(1) for g in gradients.values())  # take the root
# return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
#   -> return sum(g.flatten(1).norm(dim=1) for g in gradients.values())  # take one root
# return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
#   -> return [g.flatten(1).norm(dim=1) for g in gradients.values()][-1]  # last parameter alone
# return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
#   -> return gradients["0.weight"].flatten(1).norm(dim=1)  # first parameter alone
# g.flatten(1).square().sum(1) -> g.square().sum()  # lengths for 4 examples
# return ((functional_call(net, params, (x,)) - y) ** 2).sum()
#   -> return ((functional_call(net, params, (x,)) - y) ** 2).mean()  # half the loss
# gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys)
#   -> each = [grad(loss)(params, x, y) for x, y in zip(xs, ys)]
#   return sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
#   -> return torch.stack([sum(g.square().sum() for g in one.values()).sqrt() for one in each])  # a loop
# vmap(grad(loss), in_dims=(None, 0, 0)) -> vmap(grad(loss))  # vmap
# return sum -> ((net(xs) - ys) ** 2).sum().backward(); return sum  # leaves a gradient in 0.weight


# %% right models_step
def models_step(net, params, x, y, rate):
    leaves = {name: p.detach().clone().requires_grad_() for name, p in params.items()}
    loss = ((functional_call(net, leaves, x) - y) ** 2).mean()
    found = torch.autograd.grad(loss, list(leaves.values()))
    return {name: p - rate * g for (name, p), g in zip(params.items(), found)}


# %% wrong models_step: changes 0.weight
#       gradients = grad(loss)(params)
# +     with torch.no_grad():
# +         net[0].weight.sub_(rate)

# %% changes models_step
# ((functional_call(net, params, (x,)) - y) ** 2) -> (functional_call(net, params, (x,)) - y).square()
#   drop gradients = grad(loss)(params)
#   return {name: p - rate * gradients[name] for name, p in params.items()}
#   -> return {name: params[name] - rate * g for name, g in grad(loss)(params).items()}  # right
# p - rate -> p + rate  # uphill
# grad(loss)(params) -> grad(loss)({name: p.detach() for name, p in net.named_parameters()})  # of net, not of params
# return ((functional_call(net, params, (x,)) - y) ** 2).mean()
#   -> return ((functional_call(net, params, (x,)) - y) ** 2).sum()  # not the sum
# return {name: p - rate * gradients[name] for name, p in params.items()}
#   -> return [p - rate * gradients[name] for name, p in params.items()]  # expected a dict
# p - rate * gradients[name] -> p.sub_(rate.detach() * gradients[name])  # has changed
# p - rate -> p - rate.item()  # cut the graph
# rate * gradients -> gradients  # multiply it by rate
# {name: p - rate * gradients[name] for name, p in params.items()} -> gradients.values()  # expected a dict
# p - rate -> -rate  # the step alone
