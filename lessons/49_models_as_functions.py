# %% [markdown]
# # Models as functions
#
# *Needs lessons 14, 17, 18 and 31.*
#
# **A module keeps its parameters inside. How do `grad` and `vmap` get at them?** `functional_call` runs a module with
# parameters that you pass. So a model becomes a function of a dict, and each transform works on it: gradients of each
# example, and ten models in one call.
#
# After this lesson you can:
#
# - call a module with other parameters, and leave the module as it is,
# - compute the gradient of each example for a whole network,
# - run an ensemble of models with one vmap.

# %%
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad.func import functional_call, grad, stack_module_state, vmap
from viz import draw


def run(weights):
    return functional_call(net, weights, (x,))


net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
params = {name: p.detach() for name, p in net.named_parameters()}
x, y = torch.randn(5, 2), torch.randn(5, 1)
doubled = {name: (2 * p).requires_grad_() for name, p in params.items()}
draw(run, doubled, passes=("forward", "backward"))

# %% [markdown]
# The network runs, but with the parameters in `doubled`: they are the yellow inputs, and get the gradients. The names are those
# of `named_parameters`, and a name that you leave out keeps the module's tensor.

# %%
other = run(doubled)
print(list(params), torch.allclose(other, net(x)))
assert torch.equal(run(params), net(x)) and not torch.allclose(other, net(x))
try:
    functional_call(net, {"0.weigth": params["0.weight"]}, (x,))
except KeyError as e:
    print(e)
    assert "has no parameter or buffer '0.weigth'" in str(e)
else:
    raise AssertionError("an unknown name was accepted")

# %% [markdown]
# ## The gradient of a dict
#
# The loss is now a function of the parameters and the data. `grad` accepts a dict (lesson 47), so it returns a dict of
# gradients.


# %%
def loss(params, x, y):
    return ((functional_call(net, params, (x,)) - y) ** 2).mean()


gradients = grad(loss)(params, x, y)
((net(x) - y) ** 2).mean().backward()
assert all(torch.allclose(gradients[name], p.grad, atol=1e-6) for name, p in net.named_parameters())

net.zero_grad()
grad(loss)(params, x, y)
lessons.predict(
    "After net.zero_grad() and another grad(loss)(params, x, y), what is net[0].weight.grad?",
    {
        "the gradient": "backward adds to .grad. grad returns its result, and leaves all tensors as they are.",
        "None": "zero_grad has cleared it, and a transform stores nothing in the module.",
        "zeros": "zero_grad sets .grad to None, and grad does not touch it.",
    },
    str(net[0].weight.grad),
)

# %% [markdown]
# ## One gradient for each example
#
# In lesson 18 the model was a vector. Now it is a network, and the code is the same: `grad` of the loss of one example, mapped
# over the examples. The dict is shared, hence `None`.

# %%
per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
print({name: tuple(g.shape) for name, g in per_sample.items()})
for i in range(5):
    one = grad(loss)(params, x[i], y[i])
    assert all(torch.allclose(per_sample[name][i], one[name], atol=1e-6) for name in params)
assert all(torch.allclose(g.mean(0), gradients[name], atol=1e-6) for name, g in per_sample.items())

# %% [markdown]
# A loop would run the network five times forward and backward; vmap runs it once. The mean over the examples is the gradient
# of the batch, because the loss is a mean.
#
# ## Many models at once
#
# An ensemble is several models with the same layers and different parameters. Where they disagree, none of them knows much.
# `stack_module_state` stacks each parameter of all models along a new first dimension, and `vmap` runs along it.

# %%
torch.manual_seed(0)
nets = [torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)) for _ in range(10)]
stacked, buffers = stack_module_state(nets)
print({name: tuple(p.shape) for name, p in stacked.items()})


def predict_all(stacked, x):
    return vmap(lambda params, x: functional_call(nets[0], params, (x,)), in_dims=(0, None))(stacked, x)


inputs = torch.linspace(-3, 3, 61).unsqueeze(1)
assert torch.allclose(predict_all(stacked, inputs), torch.stack([one(inputs) for one in nets]), atol=1e-6)

# %% [markdown]
# The stacked parameters require grad, so one loop trains all ten. The data covers only the middle. The deviation of the ten
# results is small there, and larger outside.

# %%
known = inputs[22:39:3]
target = (3 * known).sin()
optimizer = torch.optim.Adam(stacked.values(), lr=0.02)
for _ in range(200):
    optimizer.zero_grad()
    ((predict_all(stacked, known) - target) ** 2).mean((1, 2)).sum().backward()
    optimizer.step()

deviation = predict_all(stacked, inputs).detach().std(0).squeeze()
print("in the middle", round(deviation[22:39].mean().item(), 3), "outside", round(deviation[[0, -1]].mean().item(), 3))
assert deviation[[0, -1]].mean() > 3 * deviation[22:39].mean()

# %% alt="Ten curves and six points: the curves agree at the points, which are in the middle, and fan out to both sides"
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained", subplot_kw={"xlabel": "x", "ylabel": "result"})
axes.plot(inputs.numpy(), predict_all(stacked, inputs).detach().squeeze(2).T.numpy(), color="#1f4e8c", linewidth=1)
points = axes.plot(known.numpy(), target.numpy(), "o", color="#b2443c")

# %% [markdown]
# Each model has its own loss, and their sum keeps the gradients apart: the loss of one does not depend on the parameters of
# another. Buffers, such as the statistics of a batch normalization, go the same way: they are the second result, and
# `functional_call` takes both dicts in a tuple.
#
# ## Exercises
#
# ### 1. A shape
#
# Seven models `nn.Linear(5, 2)` are stacked, and `predict_all` runs them on three examples. What shape has the result? Give a
# list.

# %%
models_shape = ...

lessons.check("models_shape", models_shape)

# %% [markdown]
# ### 2. The longest gradient
#
# Write a function that returns, for each example, the length of its gradient with respect to *all* parameters of `net`
# together, in one tensor. The loss of an example is `((net(x) - y) ** 2).sum()`. Use no loop over the examples.


# %%
def models_gradient_norms(net, xs, ys): ...


lessons.check("models_gradient_norms", models_gradient_norms)

# %% [markdown]
# ### 3. A step without an optimizer
#
# Write a function that returns the parameters after a step of gradient descent, in a new dict: each is `p - rate * gradient`
# for the loss `((functional_call(net, params, (x,)) - y) ** 2).mean()`. `net` and `params` stay as they are. The derivative
# of the result with respect to `rate` has to be right, too.


# %%
def models_step(net, params, x, y, rate): ...


lessons.check("models_step", models_step)

# %% [markdown]
# ## Summary
#
# - `functional_call(module, params, args)` runs a module with parameters from a dict, and leaves it unchanged.
# - `grad` of such a function returns a dict; `vmap(grad(loss), (None, 0, 0))` gives one gradient for each example.
# - `stack_module_state` and `vmap` run and train many models at once.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does <code>params</code> hold detached tensors?</summary>
#
# A transform differentiates what you pass to it. The history of a parameter plays no part there, and `.grad` stays empty.
#
# </details>
#
# <details markdown="1">
# <summary>Which <code>in_dims</code> give each model its own batch of data?</summary>
#
# `(0, 0)`: the first dimension of the data is then cut like that of the parameters.
#
# </details>
#
# <details markdown="1">
# <summary>Why may you add the losses of all models before <code>backward</code>?</summary>
#
# The derivative of the sum with respect to one model's parameters is the derivative of that model's loss: the others do not
# depend on them.
#
# </details>
