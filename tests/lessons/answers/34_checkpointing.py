# %% values checkpoint_kept
4  # right
draw(lambda x: every(3, 12, x), x).graph.saved_bytes() / 1024  # right
37  # without checkpoints
12  # around each layer
13  # worst moment

# %% values checkpoint_best
5  # right
min(range(1, 301), key=lambda k: 300 / k + 12 * k)  # right
math.sqrt(300)  # one tensor each
math.sqrt(300 * 12)  # number of groups
25  # square root


# %% right checkpointed
def checkpointed(functions, k, x):
    for i in range(0, len(functions), k):

        def group(x, part=functions[i : i + k]):
            for f in part:
                x = f(x)
            return x

        x = checkpoint(group, x, use_reentrant=False)
    return x


# %% wrong checkpointed: 3 inputs are enough
def checkpointed(functions, k, x):
    for f in functions:
        x = checkpoint(f, x, use_reentrant=False)
    return x


# %% wrong checkpointed: Use one checkpoint for each group
def checkpointed(functions, k, x):
    def everything(x):
        for f in functions:
            x = f(x)
        return x

    return checkpoint(everything, x, use_reentrant=False)


# %% wrong checkpointed: your code raises CheckpointError
def checkpointed(functions, k, x):
    def group(x):
        for f in functions[i : i + k]:
            x = f(x)
        return x

    i = 0
    while i < len(functions):
        x = checkpoint(group, x, use_reentrant=False)
        i += k
    return x


# %% changes checkpointed
# for i in range(0, len(functions), k): -> for i in range(0, len(functions) - k + 1, k):  # the result


# %% right OwnCheckpoint
class OwnCheckpoint(torch.autograd.Function):
    @staticmethod
    def forward(f, x):
        return f(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.f, x = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return None, torch.func.vjp(ctx.f, x)[1](grad_output)[0]


# %% wrong OwnCheckpoint: RuntimeError
# -         with torch.enable_grad():
# -             x = x.detach().requires_grad_()
# -             y = ctx.f(x)
# -         return None, *torch.autograd.grad(y, x, grad_output)
# +         x = x.detach().requires_grad_()
# +         return None, torch.autograd.grad(ctx.f(x), x, grad_output)[0]

# %% wrong OwnCheckpoint: 2 tensors are saved
#       def forward(ctx, f, x):
# +         y = f(x)
# -         ctx.save_for_backward(x)
# -         return f(x)
# +         ctx.save_for_backward(x, y)
# +         return y
# -         (x,) = ctx.saved_tensors
# +         x, _ = ctx.saved_tensors
# -         return None, *torch.autograd.grad(y, x, grad_output)
# +         return None, torch.autograd.grad(y, x, grad_output)[0]

# %% changes OwnCheckpoint
# y = ctx.f(x) -> y = ctx.f(x).sum()
#   None, *torch.autograd.grad(y, x, grad_output) -> None, torch.autograd.grad(y, x)[0]  # incoming gradient
# None, *torch -> torch  # expected 2, got 1
