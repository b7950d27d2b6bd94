# %% values hook_number
21  # right
[21.0]  # right
10  # without hooks
20  # adds 1 at the end
22  # comes last
12  # before it reaches x


# %% right hook_clip
def hook_clip(parameters, max_norm):
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


# %% wrong hook_clip: a gradient is 2
def hook_clip(parameters, max_norm):
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(min(1.0, max_norm / p.grad.norm().item()))
    return torch.tensor(10.0)


# %% wrong hook_clip: within the limit
def hook_clip(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = sum(g.square().sum() for g in gradients).sqrt()
    for g in gradients:
        g.mul_(max_norm / norm)
    return norm


# %% wrong hook_clip: in place
def hook_clip(parameters, max_norm):
    norm = sum(p.grad.square().sum() for p in parameters if p.grad is not None).sqrt()
    for p in parameters:
        if p.grad is not None:
            p.grad = p.grad * (max_norm / (norm + 1e-6)).clamp(max=1)
    return norm


# %% wrong hook_clip: the returned norm
def hook_clip(parameters, max_norm):
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


# %% wrong hook_clip: NoneType
def hook_clip(parameters, max_norm):
    norm = sum(p.grad.square().sum() for p in parameters).sqrt()
    for p in parameters:
        p.grad.mul_((max_norm / (norm + 1e-6)).clamp(max=1))
    return norm


# %% changes hook_clip
# return torch -> torch  # return the norm


# %% right hook_probe
def hook_probe(functions, x):
    found = {}
    for i, f in enumerate(functions):
        x = f(x)
        x.grad_fn.register_prehook(lambda gs, i=i: found.update({i: gs[0]}))
    x.sum().backward()
    return tuple(found[i] for i in range(len(functions)))


# %% wrong hook_probe: gradient 0 is None
def hook_probe(functions, x):
    found = [None] * len(functions)
    for i, f in enumerate(functions):
        x = f(x)

        def store(g):
            found[i] = g

        x.register_hook(store)
    x.sum().backward()
    return found


# %% wrong hook_probe: expected a list
def hook_probe(functions, x):
    found = []
    for f in functions:
        x = f(x)
        x.register_hook(found.append)
    return found


# %% wrong hook_probe: gradient 0 is 1
#           x.register_hook(found.append)
# +     x.sum().backward()


# %% wrong hook_probe: retain_grad
def hook_probe(functions, x):
    results = []
    for f in functions:
        x = f(x)
        x.retain_grad()
        results.append(x)
    x.sum().backward()
    return [result.grad for result in results]


# %% changes hook_probe
# found = [] -> found = []; x.register_hook(found.append)
#   return found -> x.sum().backward(); return found[::-1]  # expected a list of 2
