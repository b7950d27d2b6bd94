# %% hook_number
hook_number = 5 * 2 * 2 + 1


# %% hook_clip
def hook_clip(parameters, max_norm):
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = sum(gradient.square().sum() for gradient in gradients).sqrt()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm


# %% hook_probe
def hook_probe(functions, x):
    gradients = [None] * len(functions)
    for i, function in enumerate(functions):

        def store(gradient, i=i):
            gradients[i] = gradient

        x = function(x)
        x.register_hook(store)
    x.sum().backward()
    return gradients
