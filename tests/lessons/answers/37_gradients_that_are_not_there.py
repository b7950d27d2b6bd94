# %% right straight_gradient
straight_gradient = 12

# %% right straight_gradient
x = torch.tensor(1.3, requires_grad=True)
straight_gradient = torch.autograd.grad((3 * Round.apply(x) - 1) ** 2, x)[0]

# %% right straight_gradient
x = torch.tensor(1.3, requires_grad=True)
((3 * (x + (x.round() - x).detach()) - 1) ** 2).backward()
straight_gradient = x.grad.item()

# %% wrong straight_gradient: true derivative
straight_gradient = 0

# %% wrong straight_gradient: not with 1.3
straight_gradient = 2 * (3 * 1.3 - 1) * 3

# %% wrong straight_gradient: the factor 3
straight_gradient = 4


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
class StraightSign(Function):
    @staticmethod
    def forward(x):
        return torch.where(x < 0, -1.0, 1.0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g.masked_fill(ctx.saved_tensors[0].abs() > 1, 0)


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


# %% wrong StraightSign: the gradient
# - class StraightSign(Function):
# + class StraightSign(Sign):
# -         return torch.where(x < 0, -1.0, 1.0).to(x.dtype)
# +         return Sign.forward(ctx, x)
# -         return torch.where(x.abs() <= 1, grad_output, 0.0)
# +         return grad_output.clamp(-1, 1)

# %% wrong StraightSign: the gradient
# - class StraightSign(Function):
# + class StraightSign(Sign):
# -         return torch.where(x < 0, -1.0, 1.0).to(x.dtype)
# +         return Sign.forward(ctx, x)
# -         return torch.where(x.abs() <= 1, grad_output, 0.0)
# +         return torch.where(x.abs() <= 1, 1.0, 0.0)

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


# %% right waiting_time
def waiting_time(rate, u):
    return (1 / (1 - u)).log().div(rate)


# %% wrong waiting_time: multiplied by the rate
def waiting_time(rate, u):
    return -(1 - u).log() * rate


# %% wrong waiting_time: the result
def waiting_time(rate, u):
    return (1 - u).log() / rate


# %% wrong waiting_time: cut the graph
def waiting_time(rate, u):
    return -(1 - u).log() / rate.item()


# %% wrong waiting_time: the result
def waiting_time(rate, u):
    from minigrad.distributions import Exponential

    torch.manual_seed(0)
    return Exponential(rate).rsample(u.shape)


# %% right score_loss
def score_loss(logit, b, rewards):
    p = logit.sigmoid()
    return (rewards * (b * p.log() + (1 - b) * (1 - p).log())).mean()


# %% right score_loss
def score_loss(logit, b, rewards):
    coin = Bernoulli(probs=torch.sigmoid(logit))
    return torch.dot(rewards, coin.log_prob(b)) / len(b)


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


# %% wrong score_loss: the gradient of logit
def score_loss(logit, b, rewards):
    return Bernoulli(logits=logit).log_prob(b).mean()
