# %% values difference_at_corner
3 / 4  # right
central(torch.relu, torch.tensor(0.5e-6, dtype=torch.float64), 1e-6)  # right
1  # derivative
0.5  # x = 0
1.5  # apart

# %% values checked_by
("gradgradcheck", "gradcheck", "neither")  # right
["Gradgradcheck", "Gradcheck", " neither "]  # right
["gradcheck", "gradcheck", "neither"]  # first Function: 2 * x is the right slope
["gradgradcheck", "gradgradcheck", "neither"]  # second Function: the derivative of x.sin()
["gradgradcheck", "gradcheck", "gradcheck"]  # third Function: 3 * x * x
["gradgradcheck", "gradcheck", "none"]  # the words are
"gradgradcheck"  # three words in a list


# %% right CheckedHypot
class CheckedHypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.sqrt(a**2 + b**2)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        share = grad_output / torch.sqrt(a**2 + b**2)
        return share * a, share * b


# %% right CheckedHypot
class CheckedHypot(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        return (a * a + b * b).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        a, b, length = ctx.saved_tensors
        return g * (a / length), g * (b / length)


# %% wrong CheckedHypot: derivative of output 0
# -         return grad_output * a / length, grad_output * b / length
# +         return grad_output * b / length, grad_output * a / length

# %% wrong CheckedHypot: minigrad check finds
# -         return grad_output * a / length, grad_output * b / length
# +         return grad_output * a / length, b / length

# %% wrong CheckedHypot: second derivatives
# -         ctx.save_for_backward(a, b, length)
# +         ctx.save_for_backward(a / length, b / length)
# -         a, b, length = ctx.saved_tensors
# -         return grad_output * a / length, grad_output * b / length
# +         by_a, by_b = ctx.saved_tensors
# +         return grad_output * by_a, grad_output * by_b

# %% wrong CheckedHypot: the result
# -         return torch.sqrt(a**2 + b**2)
# +         return a * a + b * b
# -         share = grad_output / torch.sqrt(a**2 + b**2)
# -         return share * a, share * b
# +         return grad_output * 2 * a, grad_output * 2 * b
