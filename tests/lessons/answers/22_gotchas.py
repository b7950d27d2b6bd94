# %% right gotcha_written
gotcha_written = 12

# %% right gotcha_written
z = torch.tensor(3.0, requires_grad=True)
a = z * 1
y = OnCtx.apply(a)
a.mul_(2)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    y.backward()
gotcha_written = z.grad

# %% right gotcha_written
gotcha_written = np.float64(12.0)

# %% wrong gotcha_written: after mul_ changes it
gotcha_written = 6.0

# %% wrong gotcha_written: mul_
gotcha_written = 24

# %% wrong gotcha_written: 2 * a
gotcha_written = torch.tensor(3.0)


# %% right GotchaDense
class GotchaDense(Function):
    @staticmethod
    def forward(x, w):
        return (w * x).sum(1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, w = inputs
        ctx.save_for_backward(w, x)

    @staticmethod
    def vjp(ctx, g):
        w, x = ctx.saved_tensors
        return w.T @ g, g.unsqueeze(1) * x


# %% right GotchaDense
class GotchaDense(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, weight):
        return torch.mv(weight, x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        by_x = by_weight = None
        if ctx.needs_input_grad[0]:
            by_x = weight.T.matmul(grad_output)
        if ctx.needs_input_grad[1]:
            by_weight = grad_output[:, None] * x[None, :]
        return by_x, by_weight


# %% right GotchaDense
class GotchaDense(Function):
    @staticmethod
    def forward(x, weight):
        return torch.tensor(weight.detach().numpy() @ x.detach().numpy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return torch.einsum("i,ij->j", grad_output, weight), torch.einsum("i,j->ij", grad_output, x)


# %% wrong GotchaDense: setup_context
class GotchaDense(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return weight @ x

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, torch.outer(grad_output, x)


# %% wrong GotchaDense: argument
class GotchaDense(Function):
    @staticmethod
    def forward(x):
        return weight @ x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output @ weight


# %% wrong GotchaDense: shape
class GotchaDense(Function):
    @staticmethod
    def forward(x, weight):
        return weight @ x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, torch.outer(x, grad_output)


# %% wrong GotchaDense: gradient of argument 1
class GotchaDense(Function):
    @staticmethod
    def forward(x, weight):
        return weight @ x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, None


# %% wrong GotchaDense: tensors on ctx
class GotchaDense(Function):
    @staticmethod
    def forward(x, weight):
        return weight @ x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.weight = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output @ ctx.weight, torch.outer(grad_output, ctx.x)


# %% right GotchaReciprocal
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output / (x * x)


# %% right GotchaReciprocal
class GotchaReciprocal(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**-1
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * -y / x


# %% right GotchaReciprocal
class GotchaReciprocal(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.reciprocal()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * -(y**2)

    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return t * -(y**2)


# %% wrong GotchaReciprocal: second derivative
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(-1 / (x * x))

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


# %% wrong GotchaReciprocal: tensors on ctx
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (ctx.x,) = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output / (ctx.x * ctx.x)


# %% wrong GotchaReciprocal: the gradient
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * y


# %% wrong GotchaReciprocal: 1 / x alone
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x, -1 / (x * x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, grad_output, grad_slope):
        x, slope = ctx.saved_tensors
        return grad_output * slope + grad_slope * 2 / x**3


# %% right GotchaSums
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        batch, _ = in_dims
        return GotchaSums.apply(x, dim if dim < batch else dim + 1), batch


# %% right GotchaSums
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        x = x.movedim(in_dims[0], -1)
        return GotchaSums.apply(x, dim), x.dim() - 1


# %% right GotchaSums
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        rows = [GotchaSums.apply(row, dim) for row in x.unbind(in_dims[0])]
        return torch.stack(rows), 0


# %% right GotchaSums
class GotchaSums(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, dim):
        return x.cumsum(dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.flip(ctx.dim).cumsum(ctx.dim).flip(ctx.dim), None


# %% wrong GotchaSums: generate_vmap_rule
class GotchaSums(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1), 0


# %% wrong GotchaSums: sums along 0 under vmap
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return GotchaSums.apply(x, dim), in_dims[0]


# %% wrong GotchaSums: batch in dimension 1
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return GotchaSums.apply(x, dim + 1), 0


# %% wrong GotchaSums: out_dims
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1)


# %% wrong GotchaSums: grad around vmap
class GotchaSums(Function):
    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1).detach(), 0
