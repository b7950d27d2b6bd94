"""Losses and gradients that differ from the intended ones without an error."""

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import mistake

X, Y = torch.arange(12.0).reshape(4, 3) / 12, torch.tensor([[0.0], [1.0], [1.0], [0.0]])


@mistake(".data", "p.data.pow(2).sum()", remedy="without .data", says="penalty-without-gradient")
def penalty_through_data():
    """A penalty on the weights is computed through `.data`.

    The loss has the intended value, but the penalty is a constant for autograd, and the weights grow as before.
    """
    model = nn.Linear(3, 1)
    loss = (model(X) - Y).pow(2).mean()
    penalty = sum(p.data.pow(2).sum() for p in model.parameters())  # - <-
    # + penalty = sum(p.pow(2).sum() for p in model.parameters())
    loss = loss + 0.01 * penalty
    loss.backward()
    # + print(sum(p.data.pow(2).sum() for p in model.parameters()) ** 0.5)


@mistake("detach", "p.detach().abs().sum()", remedy="without detach", says="penalty-without-gradient")
def penalty_of_detached_weights():
    """A penalty is added up in a loop over detached parameters.

    `detach` is right for a number that is printed, and wrong for a term of the loss.
    """
    model, penalty = nn.Linear(3, 1), 0.0
    for p in model.parameters():
        penalty += p.detach().abs().sum()  # - <-
        # + penalty += p.abs().sum()
    (F.mse_loss(model(X), Y) + 0.1 * penalty).backward()


@mistake("float", "float(smooth)", remedy="without float", says="penalty-without-gradient")
def penalty_as_a_number():
    """A penalty is converted to a number before it is added to the loss.

    A number has no history.
    """
    model = nn.Linear(3, 1)
    smooth = model.weight.diff().pow(2).sum()
    loss = F.mse_loss(model(X), Y) + 0.1 * float(smooth)  # - <-
    # + loss = F.mse_loss(model(X), Y) + 0.1 * smooth
    loss.backward()
    # + print(float(smooth))


@mistake("Drop.backward", remedy="ctx.save_for_backward(mask)", says="mask-drawn-again")
def mask_drawn_again():
    """`backward` of a dropout draws a new mask.

    The gradient then passes through elements that forward has dropped. Forward has to save its mask.
    """

    class Drop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, p):
            mask = (torch.rand_like(x) > p).float()
            ctx.p = p  # -
            # + ctx.p, ctx.mask = p, mask
            return x * mask / (1 - p)

        @staticmethod
        def backward(ctx, g):
            mask = (torch.rand_like(g) > ctx.p).float()  # - <-
            # + mask = ctx.mask
            return g * mask / (1 - ctx.p), None

    Drop.apply(torch.ones(6, requires_grad=True), 0.5).sum().backward()


@mistake("x", "(4, 3)", remedy="x.grad = None", says="gradients-not-cleared")
def attack_without_clearing():
    """An adversarial example is updated with its gradient, which no line clears.

    From the second round on, each step uses the sum of all gradients so far.
    """
    model, x = nn.Linear(3, 1), X.clone().requires_grad_()
    for _ in range(3):
        F.mse_loss(model(x), Y).backward()
        with torch.no_grad():
            x += 0.1 * x.grad.sign()  # <-
        # + x.grad = None


@mistake("p", "(1, 3)", remedy="p.grad = None", says="gradients-not-cleared")
def descent_by_hand_without_clearing():
    """Parameters are updated by hand, and their gradients are never cleared.

    An optimizer has `zero_grad` for this; without one, a line in the loop has to clear the gradients.
    """
    model = nn.Linear(3, 1, bias=False)
    for _ in range(3):
        F.mse_loss(model(X), Y).backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad  # <-
            # + p.grad = None


@mistake("clamp", "3 to 5", "bounds 0 and 1", remedy="sigmoid(x)", says="zero-gradient")
def clamped_outside():
    """All elements are outside the bounds of a clamp.

    The slope of `clamp` is 0 there, so no step changes the parameters.
    """
    w = torch.tensor([5.0, 3.0], requires_grad=True)  # -
    # + w = torch.tensor([5.0, 0.3], requires_grad=True)
    p = torch.clip(w, 0, 1)  # <-
    (p - 0.3).pow(2).sum().backward()


@mistake("batch", "(4, 3)", remedy="batch = data[i:i + 2].clone()", says="data-changed")
def batch_normalised_in_place():
    """A batch is normalised in place, and with it the data: a slice is no copy.

    In the second epoch the numbers are divided once more.
    """
    data, model = X * 255, nn.Linear(3, 1)
    for _ in range(2):
        for i in range(0, 4, 2):
            batch = data[i : i + 2]
            batch /= 255  # - <-
            # + batch = batch / 255
            model(batch).pow(2).mean().backward()


@mistake(
    "binary_cross_entropy", "(4, 1)", remedy="binary_cross_entropy(predictions, targets)", says="exchanged-arguments"
)
def exchanged_in_binary_cross_entropy():
    """The targets come first in `binary_cross_entropy`, and the predictions second.

    The loss is then linear in the predictions, with a slope of 100.
    """
    p = nn.Linear(3, 1)(X).sigmoid()
    F.binary_cross_entropy(Y, p).backward()  # - <-
    # + F.binary_cross_entropy(p, Y).backward()


@mistake("kl_div", "(4, 3)", remedy="kl_div(log_probabilities, probabilities)", says="exchanged-arguments")
def exchanged_in_kl_div():
    """The probabilities of the teacher come first in `kl_div`, and the log-probabilities of the student second.

    PyTorch's order is the reverse of the formula's.
    """
    teacher, student = (X + 1).softmax(1), nn.Linear(3, 3)
    F.kl_div(teacher, student(X).log_softmax(1), reduction="batchmean")  # - <-
    # + F.kl_div(student(X).log_softmax(1), teacher, reduction="batchmean").backward()


@mistake("kl_div", "(4, 3)", remedy="log_target=True", says="logarithms-as-probabilities")
def logarithms_as_target():
    """Both arguments of `kl_div` are log-probabilities.

    Its target is a probability, unless `log_target=True` says otherwise.
    """
    p, q = nn.Linear(3, 3)(X).log_softmax(1), nn.Linear(3, 3)(X).log_softmax(1)
    F.kl_div(p, q, reduction="batchmean")  # - <-
    # + F.kl_div(p, q, reduction="batchmean", log_target=True).backward()


@mistake("sample", "element 0 of tensors", remedy="rsample()")
def draw_without_gradient():
    """The loss is computed from `sample()` of a distribution with trainable parameters.

    `sample` draws without a history; `rsample` draws a differentiable function of the parameters.
    """
    mean = torch.zeros(3, requires_grad=True)
    q = torch.distributions.Normal(mean, torch.ones(3))
    z = q.sample()  # - <-
    # + z = q.rsample()
    z.pow(2).sum().backward()


@mistake("Adam", "sample", remedy="rsample()", says="parameter-cut-off")
def encoder_behind_a_draw():
    """A variational autoencoder draws its code with `sample()`.

    The decoder is trained, and the encoder never receives a gradient.
    """
    encoder, decoder = nn.Linear(3, 4), nn.Linear(2, 3)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    mean, log_std = encoder(X).chunk(2, 1)
    z = torch.distributions.Normal(mean, log_std.exp()).sample()  # - <-
    # + z = torch.distributions.Normal(mean, log_std.exp()).rsample()
    (decoder(z) - X).pow(2).mean().backward()
    optimizer.step()


@mistake("Square.backward", remedy="class SquareFunction(", says="backward-of-module")
def backward_of_a_module_without_optimizer():
    """A Module defines `backward`, and its gradient is read without an optimizer.

    Autograd calls `backward` of a Function, and no method of a Module.
    """

    class Square(nn.Module):
        def forward(self, x):
            self.x = x
            return x * x

        def backward(self, grad_output):  # - <-
            return 3 * self.x * grad_output  # -

    square, x = Square(), torch.ones(3, requires_grad=True)
    square(x).sum().backward()


@mistake("load_state_dict", "2 of 2 tensors", remedy="copy.deepcopy", says="own-state")
def best_state_in_a_dictionary():
    """The best state is copied into another dictionary, which holds the same tensors.

    Only the dictionary is new. The tensors share the model's memory and change with it.
    """
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = {name: value for name, value in model.state_dict().items()}  # - <=
    # + best = {name: value.clone() for name, value in model.state_dict().items()}
    F.mse_loss(model(X), Y).backward()
    optimizer.step()
    model.load_state_dict(best)  # <-
