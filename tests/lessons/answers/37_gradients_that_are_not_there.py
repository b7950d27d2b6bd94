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


# %% right StraightSign
class StraightSign(Sign):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Sign.forward(ctx, x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).to(g.dtype)


# %% wrong StraightSign: the gradient
class StraightSign(Sign):
    @staticmethod
    def forward(ctx, x):
        return Sign.forward(ctx, x)


# %% wrong StraightSign: the result
# - class StraightSign(Function):
# + class StraightSign(Sign):
# -         return torch.where(x < 0, -1.0, 1.0).to(x.dtype)
# +         return x.sign()


# %% right waiting_time
def waiting_time(rate, u):
    return -torch.log1p(-u) / rate


# %% right waiting_time
def waiting_time(rate, u):
    return (1 - u).log() * (-1 / rate)


# %% wrong waiting_time: multiplied by the rate
def waiting_time(rate, u):
    return -(1 - u).log() * rate


# %% wrong waiting_time: the result
def waiting_time(rate, u):
    return (1 - u).log() / rate


# %% wrong waiting_time: cut the graph
def waiting_time(rate, u):
    return -(1 - u).log() / rate.item()


# %% right score_loss
def score_loss(logit, b, rewards):
    p = logit.sigmoid()
    return (rewards * (b * p.log() + (1 - b) * (1 - p).log())).mean()


# %% right score_loss
def score_loss(logit, b, rewards):
    return (rewards * torch.nn.functional.logsigmoid(torch.where(b == 1, logit, -logit))).mean()


# %% wrong score_loss: take the mean
def score_loss(logit, b, rewards):
    return (rewards * Bernoulli(logits=logit).log_prob(b)).sum()


# %% wrong score_loss: wrong sign
def score_loss(logit, b, rewards):
    return -(rewards * Bernoulli(logits=logit).log_prob(b)).mean()


# %% wrong score_loss: does not require grad
def score_loss(logit, b, rewards):
    return (rewards * b).mean()


# %% wrong score_loss: the gradient of logit
def score_loss(logit, b, rewards):
    return (rewards * Bernoulli(logits=logit).log_prob(b).exp()).mean()
