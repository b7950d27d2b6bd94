# %% values nondiff_received
(2, 0, 0)  # right
torch.tensor([2.0, 0.0, 0.0])  # right
[2, 0, None]  # set_materialize_grads
[2, 0, 3]  # c is marked
[1, 0, 0]  # for a
[2.0]  # one for each output


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
class NondiffClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        inside = (x.abs() <= 1).float()
        ctx.save_for_backward(inside)
        return x.clamp(-1, 1), inside

    @staticmethod
    def backward(ctx, *grads):
        return grads[0] * ctx.saved_tensors[0]


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


# %% changes NondiffClip
# ctx.save_for_backward(inside) -> ctx.mark_non_differentiable(inside)
#   return grads[0] * ctx.saved_tensors[0] -> return grads[0]  # as if the derivative were 1
# ctx.save_for_backward(inside) -> ctx.mark_non_differentiable(inside); ctx.save_for_backward(inside)
#   return grads[0] * ctx.saved_tensors[0] -> return 2 * ctx.saved_tensors[0]  # does not depend on
# ctx.save_for_backward(inside) -> ctx.mark_non_differentiable(inside); ctx.save_for_backward(inside)
#   def backward(ctx, *grads): -> def backward(ctx, g, g_inside):
#   return grads[0] * ctx.saved_tensors[0] -> return g * ctx.saved_tensors[0], g_inside  # 2 gradients


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


# %% wrong NondiffParts: still requires grad
# -         whole = x.round()
# -         ctx.mark_non_differentiable(whole)
# -         return whole, x - whole
# +         return x.round(), x - x.round()

# %% changes NondiffParts
# return x -> ctx.mark_non_differentiable(x.round()); return x  # the very tensor
# return grad_rest -> return torch.zeros_like(grad_rest)  # is 0
# ctx.mark_non_differentiable(whole) -> rest = x - whole
#   return whole, x - whole -> ctx.mark_non_differentiable(whole, rest); return whole, rest  # lost its gradient


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


# %% changes NondiffMultiples
# ctx.set_materialize_grads(False) -> ctx.materialize_grads = False
#   return x.clone(), 2 * x, 3 * x -> return x.clone(), x + x, x + x + x
#   return sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None)
#   -> parts = [w * g for w, g in ((1, g1), (2, g2), (3, g3)) if g is not None]; return torch.stack(parts).sum(0)  # right
# drop ctx.set_materialize_grads(False)
#   sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None) -> g1 + 2 * g2 + 3 * g3  # receives zeros
# sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None) -> g1 + 2 * g2 + 3 * g3  # which is None
# return sum(k * g for k, g in enumerate((g1, g2, g3), 1) if g is not None)
#   -> return sum(g for g in (g1, g2, g3) if g is not None)  # the gradient
# return x.clone(), 2 * x, 3 * x -> return x, 2 * x, 3 * x
#   def backward(ctx, g1, g2, g3): -> def backward(ctx, *grads):
#   (g1, g2, g3) -> grads  # x itself
