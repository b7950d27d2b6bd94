# %% values nondiff_received
(2, 0, 0)  # right
torch.tensor([2.0, 0.0, 0.0])  # right
[2, 0, None]  # set_materialize_grads
[2, 0, 3]  # c is marked
[1, 0, 0]  # for a
[2.0]  # one for each output

# %% right NondiffClip
# -         ctx.save_for_backward(inside)
# +         ctx.save_for_backward(x)
# -     def backward(ctx, grad_clipped, grad_inside):
# -         (inside,) = ctx.saved_tensors
# -         return grad_clipped * inside
# +     def backward(ctx, *grads):
# +         (x,) = ctx.saved_tensors
# +         return torch.where(x.abs() <= 1, grads[0], torch.zeros_like(x))


# %% right NondiffClip
class NondiffClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        inside = (x.abs() <= 1).float()
        ctx.mark_non_differentiable(inside)
        ctx.inside = (x.abs() <= 1).tolist()
        return x.clamp(-1, 1), inside

    @staticmethod
    def backward(ctx, g, _):
        return None if g is None else g * torch.tensor(ctx.inside)


# %% wrong NondiffClip: mark it in forward
# -         ctx.mark_non_differentiable(inside)
# -         ctx.save_for_backward(x)
# +         ctx.save_for_backward(inside)
# -         (x,) = ctx.saved_tensors
# -         return torch.where(x.abs() <= 1, grads[0], torch.zeros_like(x))
# +         return grads[0] * ctx.saved_tensors[0]


# %% wrong NondiffClip: nothing else
class NondiffClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        inside, clipped = (x.abs() <= 1).float(), x.clamp(-1, 1)
        ctx.mark_non_differentiable(clipped, inside)
        return clipped, inside

    @staticmethod
    def backward(ctx, *grads):
        return grads[0]


# %% wrong NondiffClip: as if the derivative were 1
# -         ctx.save_for_backward(inside)
# +         ctx.mark_non_differentiable(inside)
# -         return grads[0] * ctx.saved_tensors[0]
# +         return grads[0]

# %% wrong NondiffClip: does not depend on
#           inside = (x.abs() <= 1).float()
# +         ctx.mark_non_differentiable(inside)
# -         return grads[0] * ctx.saved_tensors[0]
# +         return 2 * ctx.saved_tensors[0]

# %% wrong NondiffClip: 2 gradients
# -     def backward(ctx, *grads):
# -         return 2 * ctx.saved_tensors[0]
# +     def backward(ctx, g, g_inside):
# +         return g * ctx.saved_tensors[0], g_inside


# %% right NondiffParts
class NondiffParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.round(), x - x.round()
        ctx.mark_non_differentiable(result[0])
        return result

    @staticmethod
    def vjp(ctx, *grads):
        return grads[1:]


# %% right NondiffParts
class NondiffParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        whole = torch.tensor([float(round(v)) for v in x.tolist()])
        ctx.mark_non_differentiable(whole)
        return [whole, x - whole]

    @staticmethod
    def backward(ctx, _, grad_rest):
        return grad_rest.clone()


# %% wrong NondiffParts: the very tensor
# -         whole = x.round()
# -         ctx.mark_non_differentiable(whole)
# -         return whole, x - whole
# +         ctx.mark_non_differentiable(x.round())
# +         return x.round(), x - x.round()

# %% wrong NondiffParts: still requires grad
# -         ctx.mark_non_differentiable(x.round())

# %% wrong NondiffParts: is 0
# -         return grad_rest
# +         return torch.zeros_like(grad_rest)

# %% wrong NondiffParts: lost its gradient
# -         ctx.mark_non_differentiable(whole)
# -         return whole, x - whole
# +         rest = x - whole
# +         ctx.mark_non_differentiable(whole, rest)
# +         return whole, rest


# %% right NondiffMultiples
class NondiffMultiples(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return [k * x for k in (1, 2, 3)]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, *grads):
        total = None
        for k, g in zip((1, 2, 3), grads):
            if g is not None:
                total = k * g if total is None else total + k * g
        return total


# %% right NondiffMultiples
# -         ctx.set_materialize_grads(False)
# -         return x.clone(), 2 * x, 3 * x
# +         ctx.materialize_grads = False
# +         return x.clone(), x + x, x + x + x
# -         return sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None)
# +         parts = [w * g for w, g in ((1, g1), (2, g2), (3, g3)) if g is not None]
# +         return torch.stack(parts).sum(0)


# %% wrong NondiffMultiples: receives zeros
class NondiffMultiples(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone(), 2 * x, 3 * x

    @staticmethod
    def backward(ctx, g1, g2, g3):
        return g1 + 2 * g2 + 3 * g3


# %% wrong NondiffMultiples: which is None
# -         return sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None)
# +         return g1 + 2 * g2 + 3 * g3

# %% wrong NondiffMultiples: the gradient
# -         return sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None)
# +         return sum(g for g in (g1, g2, g3) if g is not None)

# %% wrong NondiffMultiples: x itself
# -         return x.clone(), 2 * x, 3 * x
# +         return x, 2 * x, 3 * x
# -     def backward(ctx, g1, g2, g3):
# -         return sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None)
# +     def backward(ctx, *grads):
# +         return sum(k * g for k, g in enumerate(grads, 1) if g is not None)
