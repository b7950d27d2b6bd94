# %% generated_draws
generated_draws = [5, 8 * 5]


# %% GeneratedNorm
class GeneratedNorm(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x.norm()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        n = x.norm()
        safe = torch.where(n == 0, torch.ones_like(n), n)
        return grad_output * n + x * (grad_output * x).sum() / safe


# %% RandomSigns
class RandomSigns(torch.autograd.Function):
    @staticmethod
    def forward(x):
        signs = torch.tensor(np.random.choice([-1.0, 1.0], x.shape).astype(np.float32))
        return x * signs, signs

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad_output, _):
        (signs,) = ctx.saved_tensors
        return grad_output * signs

    @staticmethod
    def vmap(info, in_dims, x):
        if info.randomness == "error":
            raise RuntimeError("RandomSigns draws random numbers: pass randomness= to vmap")
        x = x.movedim(in_dims[0], 0)
        if info.randomness == "different":
            return RandomSigns.apply(x), (0, 0)
        _, signs = RandomSigns.apply(x[0])
        return (x * signs, signs), (0, None)
