# %% nondiff_received
nondiff_received = [2.0, 0.0, 0.0]


# %% NondiffClip
class NondiffClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        inside = (x.abs() <= 1).float()
        ctx.mark_non_differentiable(inside)
        ctx.save_for_backward(inside)
        return x.clamp(-1, 1), inside

    @staticmethod
    def backward(ctx, grad_clipped, grad_inside):
        (inside,) = ctx.saved_tensors
        return grad_clipped * inside


# %% NondiffParts
class NondiffParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        whole = x.round()
        ctx.mark_non_differentiable(whole)
        return whole, x - whole

    @staticmethod
    def backward(ctx, grad_whole, grad_rest):
        return grad_rest


# %% NondiffMultiples
class NondiffMultiples(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x.clone(), 2 * x, 3 * x

    @staticmethod
    def backward(ctx, g1, g2, g3):
        return sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None)
