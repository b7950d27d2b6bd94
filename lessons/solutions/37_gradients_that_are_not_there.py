# %% straight_gradient
straight_gradient = 2 * (3 * 1 - 1) * 3


# %% StraightSign
class StraightSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x < 0, -1.0, 1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, grad_output, 0.0)


# %% waiting_time
def waiting_time(rate, u):
    return -torch.log(1 - u) / rate


# %% score_loss
def score_loss(logit, b, rewards):
    return (rewards * Bernoulli(logits=logit).log_prob(b)).mean()
