# %% right hook_number
hook_number = 21

# %% right hook_number
x = torch.tensor(1.0, requires_grad=True)
y = 2 * x
y.register_hook(lambda g: 2 * g)
x.register_hook(lambda g: g + 1)
(5 * y).backward()
hook_number = x.grad

# %% right hook_number
hook_number = [21.0]

# %% wrong hook_number: without hooks
hook_number = 10

# %% wrong hook_number: adds 1 at the end
hook_number = 20

# %% wrong hook_number: comes last
hook_number = 22

# %% wrong hook_number: before it reaches x
hook_number = 12


# %% right hook_clip
def hook_clip(parameters, max_norm):
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


# %% right hook_clip
def hook_clip(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    norm = torch.cat([p.grad.reshape(-1) for p in parameters]).norm()
    for p in parameters:
        p.grad *= min(1.0, max_norm / (norm.item() + 1e-12))
    return norm


# %% right hook_clip
@torch.no_grad()
def hook_clip(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.norm().item() ** 2 for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.div_(norm / max_norm)
    return norm


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


# %% wrong hook_clip: return the norm
def hook_clip(parameters, max_norm):
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)


# %% wrong hook_clip: NoneType
def hook_clip(parameters, max_norm):
    norm = sum(p.grad.square().sum() for p in parameters).sqrt()
    for p in parameters:
        p.grad.mul_((max_norm / (norm + 1e-6)).clamp(max=1))
    return norm


# %% right hook_probe
def hook_probe(functions, x):
    found = []
    for f in functions:
        x = f(x)
        x.register_hook(lambda g: found.append(g))
    x.sum().backward()
    return found[::-1]


# %% right hook_probe
def hook_probe(functions, x):
    found = {}
    for i, f in enumerate(functions):
        x = f(x)
        x.grad_fn.register_prehook(lambda gs, i=i: found.update({i: gs[0]}))
    x.sum().backward()
    return tuple(found[i] for i in range(len(functions)))


# %% right hook_probe
def hook_probe(functions, x):
    from functools import partial

    found = [None] * len(functions)
    for i, f in enumerate(functions):
        x = f(x)
        x.register_hook(partial(found.__setitem__, i))
    x.sum().backward()
    return found


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


# %% wrong hook_probe: gradient 0 is 1
def hook_probe(functions, x):
    found = []
    for f in functions:
        x = f(x)
        x.register_hook(found.append)
    x.sum().backward()
    return found


# %% wrong hook_probe: retain_grad
def hook_probe(functions, x):
    results = []
    for f in functions:
        x = f(x)
        x.retain_grad()
        results.append(x)
    x.sum().backward()
    return [result.grad for result in results]


# %% wrong hook_probe: expected a list
def hook_probe(functions, x):
    found = []
    for f in functions:
        x = f(x)
        x.register_hook(found.append)
    return found


# %% wrong hook_probe: expected a list of 2
def hook_probe(functions, x):
    found = []
    x.register_hook(found.append)
    for f in functions:
        x = f(x)
        x.register_hook(found.append)
    x.sum().backward()
    return found[::-1]
