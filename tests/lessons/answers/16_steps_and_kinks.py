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


# %% changes CheckedHypot
# a / length, grad_output * b -> b / length, grad_output * a  # derivative of output 0
# grad_output * b -> b  # minigrad check finds
# ctx.save_for_backward(a, b, length) -> ctx.save_for_backward(a / length, b / length)
#   a, b, length = ctx.saved_tensors -> by_a, by_b = ctx.saved_tensors
#   a / length, grad_output * b / length -> by_a, grad_output * by_b  # second derivatives
# return torch.sqrt(a**2 + b**2) -> return a * a + b * b
#   drop share = grad_output / torch.sqrt(a**2 + b**2)
#   return share * a, share * b -> return grad_output * 2 * a, grad_output * 2 * b  # the result
