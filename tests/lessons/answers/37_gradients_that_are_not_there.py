# %% values straight_gradient
12  # right
0  # true derivative
2 * (3 * 1.3 - 1) * 3  # not with 1.3
4  # the factor 3

# %% right straight_gradient
x = torch.tensor(1.3, requires_grad=True)
straight_gradient = torch.autograd.grad((3 * Round.apply(x) - 1) ** 2, x)[0]


# %% right StraightSign
class StraightSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x >= -1) & (x <= 1))
        return 2 * (x >= 0).to(x.dtype) - 1

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside


# %% wrong StraightSign: the gradient
class StraightSign(Sign):
    @staticmethod
    def forward(ctx, x):
        return Sign.forward(ctx, x)


# %% changes StraightSign
# class StraightSign(Function): -> class StraightSign(Sign):
#   return torch.where(x < 0, -1.0, 1.0).to(x.dtype) -> return x.sign()  # the result

# %% changes waiting_time
# return -torch.log(1 - u) / rate -> return -torch.log1p(-u) / rate  # right
# return -torch.log(1 - u) / rate -> return (1 - u).log() * (-1 / rate)  # right
# return -torch.log(1 - u) / rate -> return -(1 - u).log() * rate  # multiplied by the rate
# return -torch.log(1 - u) / rate -> return (1 - u).log() / rate  # the result
# return -torch.log(1 - u) / rate -> return -(1 - u).log() / rate.item()  # cut the graph

# %% changes score_loss
# return (rewards * Bernoulli(logits=logit).log_prob(b)).mean()
#   -> p = logit.sigmoid(); return (rewards * (b * p.log() + (1 - b) * (1 - p).log())).mean()  # right
# Bernoulli(logits=logit).log_prob(b) -> torch.nn.functional.logsigmoid(torch.where(b == 1, logit, -logit))  # right
# return (rewards * Bernoulli(logits=logit).log_prob(b)).mean()
#   -> return (rewards * Bernoulli(logits=logit).log_prob(b)).sum()  # take the mean
# (rewards * Bernoulli(logits=logit).log_prob(b)) -> -(rewards * Bernoulli(logits=logit).log_prob(b))  # wrong sign
# return (rewards * Bernoulli(logits=logit).log_prob(b)).mean() -> return (rewards * b).mean()  # does not require grad
# Bernoulli(logits=logit).log_prob(b) -> Bernoulli(logits=logit).log_prob(b).exp()  # the gradient of logit
