# %% values gotcha_written
12  # right
np.float64(12.0)  # right
6.0  # after mul_ changes it
24  # mul_
torch.tensor(3.0)  # 2 * a


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


# %% wrong GotchaDense: setup_context
# -     def forward(x, weight):
# +     def forward(ctx, x, weight):
# +         ctx.save_for_backward(x, weight)
# -
# -     @staticmethod
# -     def setup_context(ctx, inputs, output):
# -         ctx.save_for_backward(*inputs)

# %% wrong GotchaDense: argument
# -     def forward(x, weight):
# +     def forward(x):
# -         ctx.save_for_backward(*inputs)
# +         pass
# -         x, weight = ctx.saved_tensors
# -         return grad_output @ weight, torch.outer(grad_output, x)
# +         return grad_output @ weight

# %% changes GotchaDense
# return weight @ x -> return torch.tensor(weight.detach().numpy() @ x.detach().numpy())
#   return grad_output @ weight, torch.outer(grad_output, x)
#   -> return torch.einsum("i,ij->j", grad_output, weight), torch.einsum("i,j->ij", grad_output, x)  # right
# grad_output, x -> x, grad_output  # shape
# return grad_output @ weight, torch.outer(grad_output, x) -> return grad_output @ weight, None  # gradient of weight
# ctx.save_for_backward(*inputs) -> ctx.x, ctx.weight = inputs
#   drop x, weight = ctx.saved_tensors
#   weight, torch.outer(grad_output, x) -> ctx.weight, torch.outer(grad_output, ctx.x)  # tensors on ctx


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


# %% wrong GotchaReciprocal: 1 / x alone
# -         return 1 / x
# +         return 1 / x, -1 / (x * x)
# -         ctx.save_for_backward(output)
# +         ctx.save_for_backward(inputs[0], output[1])
# -     def backward(ctx, grad_output):
# -         (y,) = ctx.saved_tensors
# -         return -grad_output * y * y
# +     def backward(ctx, grad_output, grad_slope):
# +         x, slope = ctx.saved_tensors
# +         return grad_output * slope + grad_slope * 2 / x**3

# %% changes GotchaReciprocal
# ctx.save_for_backward(output) -> ctx.save_for_backward(*inputs)
#   (y,) = ctx.saved_tensors -> (x,) = ctx.saved_tensors
#   return -grad_output * y * y -> return -grad_output / (x * x)  # right
# ctx.save_for_backward(output) -> (x,) = inputs; ctx.save_for_backward(-1 / (x * x))
#   (y,) = ctx.saved_tensors -> (slope,) = ctx.saved_tensors
#   return -grad_output * y * y -> return grad_output * slope  # second derivative
# ctx.save_for_backward(output) -> (ctx.x,) = inputs
#   drop (y,) = ctx.saved_tensors
#   return -grad_output * y * y -> return -grad_output / (ctx.x * ctx.x)  # tensors on ctx
# return -grad_output * y * y -> return grad_output * y * y  # the gradient


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
#   class GotchaSums(Function):
# +     generate_vmap_rule = True
# +

# %% changes GotchaSums
# return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1), 0
#   -> batch, _ = in_dims; return GotchaSums.apply(x, dim if dim < batch else dim + 1), batch  # right
# return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1), 0
#   -> return GotchaSums.apply(x, dim), in_dims[0]  # sums along 0 under vmap
# x.movedim(in_dims[0], 0) -> x  # batch in dimension 1
# return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1), 0
#   -> return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1)  # out_dims
# return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1), 0
#   -> return GotchaSums.apply(x.movedim(in_dims[0], 0), dim + 1).detach(), 0  # grad around vmap
