# %% [markdown]
# # Gradients that are not there
#
# *Needs lessons 2 and 16.*
#
# **How do I train through a step function, or through a random choice?** A step has slope 0 or none, and a random number has
# no derivative at all. You either invent a gradient, or rewrite the program so that the gradient takes another path.
#
# After this lesson you can:
#
# - give a step function a straight-through gradient, and tell the check about it
# - move a random number out of the gradient's path
# - estimate a gradient for a choice that has none
# - compare the variances of two estimators

# %%
import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad.autograd import Function, gradcheck
from minigrad.distributions import Bernoulli, Normal
from viz import draw

# %% [markdown]
# `Round` passes its gradient on as if it did nothing.


# %%
class Round(Function):
    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output  # as if forward did nothing


def both(mu, sigma, eps):
    z = mu + sigma * eps  # a random number
    return (Round.apply(z) - 3) ** 2  # and a step


torch.manual_seed(0)
mu, sigma = torch.tensor(1.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
draw(both, mu, sigma, torch.randn(()), passes="backward")

# %% [markdown]
# The gradient passes straight through `Round`, and bypasses the random number `eps`: `mu` and `sigma` receive gradients.
#
# ## A slope of zero
#
# `round` is flat almost everywhere, so its gradient is 0. A comparison has no graph at all.

# %%
x = torch.tensor([0.3, 1.7], requires_grad=True)
(flat,) = torch.autograd.grad(x.round().sum(), x)
print(flat, (x > 0).float().requires_grad)
assert flat.tolist() == [0.0, 0.0] and not (x > 0).float().requires_grad

# %% [markdown]
# A network whose weights are only +1 and -1 needs one bit for each. But a sign has slope 0, so plain training changes nothing.
# The *straight-through estimator* keeps a real number behind each sign, and sends the gradient to it as if the sign function
# were not there.


# %%
class Sign(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x < 0, -1.0, 1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


torch.manual_seed(1)
target = Sign.apply(torch.randn(20))
inputs = torch.randn(200, 20)
outputs = inputs @ target


def signs_found(sign):
    weights = torch.full((20,), 0.1, requires_grad=True)
    for _ in range(100):
        loss = (inputs @ sign(weights) - outputs).pow(2).mean()
        (gradient,) = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            weights -= 0.05 * gradient
    return (Sign.apply(weights) == target).sum().item()


print("torch.sign finds", signs_found(torch.sign), "of 20 signs, Sign.apply finds", signs_found(Sign.apply))
assert signs_found(Sign.apply) == 20 > signs_found(torch.sign) == (target == 1).sum()

# %% [markdown]
# Bengio, Léonard and Courville studied this estimator ("Estimating or Propagating Gradients Through Stochastic Neurons", 2013,
# arXiv:1308.3432) and named Hinton's lectures as its origin. You can also write it without a class:

# %%
y = x + (x.round() - x).detach()
(through,) = torch.autograd.grad(y.sum(), x)
assert torch.equal(y, x.round()) and through.tolist() == [1.0, 1.0]

# %% [markdown]
# ## The check finds the invention
#
# This backward is not the derivative of its forward. `gradcheck` notices, and so does `minigrad check`. Tell the check that
# you mean it: `skip` leaves one row out, and the check still tests all other rows.

# %%
point = torch.tensor([0.3, 1.7], dtype=torch.float64, requires_grad=True)
try:
    gradcheck(Round.apply, point)
except RuntimeError as e:
    print(e, "\n")
else:
    raise AssertionError("gradcheck accepted an invented gradient")

report = torch.testing.check(Round, point)
print([(row.name, row.message) for row in report.failures])
assert [row.name for row in report.failures] == ["gradients"]
assert torch.testing.check(Round, point, skip=["gradients"]).ok

# %% [markdown]
# ## A random number
#
# Now let $z$ be normal with mean $\mu$ and deviation $\sigma$, and minimise the mean of $f(z)$. How does `z` depend on
# `mu`?

# %%
lessons.predict(
    "z = torch.normal(mu, sigma). Which gradients do mu and sigma receive from z?",
    {
        "[0.0, 0.0]": "PyTorch's normal sends zeros, and so does minigrad's: the random number counts as a constant.",
        "[1.0, 1.0]": "torch.normal does not record how it computes the number, so nothing passes through.",
        "None": "z has a graph, but its only node sends zeros. That is worse than an error, because nothing warns you.",
        "[1.0, eps]": "That would be right for mu + sigma * eps, but torch.normal is one operation with its own rule.",
    },
    lambda: [g.item() for g in torch.autograd.grad(torch.normal(mu, sigma), (mu, sigma))],
)

# %% [markdown]
# So draw the random number outside the graph. The *reparametrisation* computes $z$ from its parameters and from noise that has
# no parameters:
#
# $$z = \mu + \sigma\varepsilon \qquad \varepsilon \sim N(0, 1) \qquad \frac{d}{d\mu} E[f(z)] = E[f'(\mu + \sigma\varepsilon)]$$
#
# Kingma and Welling (2013, arXiv:1312.6114) and Rezende, Mohamed and Wierstra (2014, arXiv:1401.4082) trained networks with
# it. The first picture shows this: no gradient goes to `eps`. Distributions that can do this have `rsample`, while `sample`
# cuts the graph.

# %%
normal = Normal(mu, sigma)
print(normal.sample(), normal.rsample())
assert not normal.sample().requires_grad
torch.manual_seed(0)
z = normal.rsample()
by_mu, by_sigma = torch.autograd.grad(z, (mu, sigma))
torch.manual_seed(0)
assert by_mu == 1 and by_sigma == torch.randn(())

# %% [markdown]
# ## A choice
#
# A coin shows 0 or 1: there is no $\mu + \sigma\varepsilon$ for it, and `f` may be a simulator without derivatives. But
# the *probability* of the result has a derivative. The score-function estimator uses $p' = p\,(\log p)'$:
#
# $$\frac{d}{d\theta} E[f(z)] = \int f(z)\,\frac{dp}{d\theta}\,dz = E\left[f(z)\,\frac{d \log p(z)}{d\theta}\right]$$
#
# Williams used it for networks that learn from rewards (REINFORCE, "Simple Statistical Gradient-Following Algorithms", Machine
# Learning 8, 1992). In the picture, no gradient passes through `f`, which is a square here. All of it goes through the
# logarithm.


# %%
def f(z):
    return z**2


def surrogate(mu, sigma):
    z = Normal(mu, sigma).sample()
    return f(z) * Normal(mu, sigma).log_prob(z)


draw(surrogate, mu, sigma, passes="backward", show=("values", "grads"))

# %% [markdown]
# For a coin the exact mean is a short sum, so you can compare the estimate with it.

# %%
logit = torch.tensor(0.4, requires_grad=True)


def reward(b):
    return (b - 0.2) ** 2


p = logit.sigmoid()
(exact,) = torch.autograd.grad(p * reward(1.0) + (1 - p) * reward(0.0), logit)

torch.manual_seed(0)
coin = Bernoulli(logits=logit)
b = coin.sample((40_000,))
(estimate,) = torch.autograd.grad((reward(b) * coin.log_prob(b)).mean(), logit)
print(f"exact {exact.item():.4f}, estimated {estimate.item():.4f}")
assert abs(exact - estimate) < 0.01 < exact

# %% [markdown]
# ## Variance
#
# Both estimators are right on average. They differ in the scatter of single estimates. Here are 20,000 of each, for the
# derivative of $E[z^2] = \mu^2 + \sigma^2$ with respect to $\mu$, which is 2.

# %%
torch.manual_seed(0)
many = 20_000
means = torch.ones(many, requires_grad=True)  # one mu for each estimate
estimates = {}
(estimates["reparametrised"],) = torch.autograd.grad(f(Normal(means, 0.5).rsample()).sum(), means)
z = Normal(means, 0.5).sample()
(estimates["score function"],) = torch.autograd.grad((f(z) * Normal(means, 0.5).log_prob(z)).sum(), means)
(estimates["score, baseline"],) = torch.autograd.grad(
    ((f(z) - f(z).mean()) * Normal(means, 0.5).log_prob(z)).sum(), means
)

variance = {name: values.var().item() for name, values in estimates.items()}
lessons.predict(
    "How many times as large is the variance of the score function as the variance of the reparametrised estimate?",
    {
        "about 20": "It multiplies by f itself, not by its slope. Most of that is noise, since only differences of f matter.",
        "about 1": "Both have the same mean, but not the same variance.",
        "about 2": "Twice the variance would be harmless. But each estimate contains the whole value of f.",
        "about 0": "The reparametrised estimate uses the slope of f, so it has less scatter, not more.",
    },
    lambda: f"about {round(variance['score function'] / variance['reparametrised'] / 10) * 10}",
)

# %% alt="Histograms of the estimates. The reparametrised estimates form a bell around 2; the score-function estimates pile up just below 0 and have a tail beyond 10"
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name in ("reparametrised", "score function"):
    axes.hist(estimates[name].numpy(), bins=np.linspace(-4, 12, 129), histtype="step", density=True, label=name)
axes.axvline(2, color="black", linestyle=":", label="exact")
axes.set(xlabel="estimate of the derivative", ylabel="density")
axes.legend()
for name, values in estimates.items():
    print(f"{name:16} mean {values.mean().item():.2f}, variance {variance[name]:.1f}")
assert all(abs(values.mean() - 2) < 0.15 for values in estimates.values())
assert variance["reparametrised"] < variance["score, baseline"] < variance["score function"]

# %% [markdown]
# Twenty times the variance needs twenty times the samples for the same error. A *baseline* helps: subtract a number from `f`.
# The mean stays, since $E[(\log p)'] = 0$, and less noise remains. So use a reparametrisation if there is one, and the score
# function for discrete choices.
#
# ## Exercises
#
# ### 1. Straight through
#
# Which gradient does `x` receive from `(3 * Round.apply(x) - 1) ** 2` at `x = 1.3`?

# %%
straight_gradient = ...

lessons.check("straight_gradient", straight_gradient)

# %% [markdown]
# ### 2. Straight through, within limits
#
# A weight far from 0 should stop growing. Write a `Function` like `Sign` (1 at 0) whose gradient passes only where `x`
# is between -1 and 1, both included.


# %%
class StraightSign(Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("StraightSign", StraightSign)

# %% [markdown]
# ### 3. Waiting times
#
# A waiting time $z$ is shorter than $t$ with the probability $1 - e^{-rt}$. Replace $t$ with $z$, set this equal to a random
# number $u$ between 0 and 1, and solve for $z$. Write `waiting_time(rate, u)`, which returns a sample whose gradient reaches
# `rate`.


# %%
def waiting_time(rate, u): ...


lessons.check("waiting_time", waiting_time)

# %% [markdown]
# ### 4. Learn from rewards (at home)
#
# `b` has the results of coins that show 1 with the probability `logit.sigmoid()`, and `rewards` has one number for each. Write
# `score_loss(logit, b, rewards)`: its gradient with respect to `logit` is the mean of the score-function estimates.


# %%
def score_loss(logit, b, rewards): ...


lessons.check("score_loss", score_loss)

# %% [markdown]
# ## Summary
#
# - Steps have slope 0. The straight-through estimator replaces it with 1: a backward that is wrong on purpose.
# - `minigrad check` finds this; `skip=["gradients"]` says that you mean it.
# - A reparametrisation computes the sample from parameters and noise, so the gradient bypasses the noise.
# - The score function needs only the derivative of the log-probability, but its variance is larger.
#
# ## Questions
#
# <details><summary>Why does a straight-through network learn, although its gradient is wrong?</summary>
# The sign of the gradient is often right: a larger number behind the step makes a larger result, or the same one.
# </details>
#
# <details><summary>Why does a program with sample() raise no error?</summary>
# The sample is a constant, like data. If other operations use the parameters, the graph exists, but part of the gradient is
# missing.
# </details>
#
# <details><summary>Why may you subtract a baseline from the reward?</summary>
# The mean of the derivative of log p is 0, because the probabilities always add up to 1. So a constant times it has the
# mean 0, too.
# </details>
