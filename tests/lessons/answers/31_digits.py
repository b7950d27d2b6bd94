# %% right digit_surprise
digit_surprise = 1.386

# %% right digit_surprise
digit_surprise = -torch.tensor(0.25).log()

# %% right digit_surprise
digit_surprise = F.cross_entropy(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([0])).item()

# %% right digit_surprise
import math

digit_surprise = -math.log(1 / 4)

# %% wrong digit_surprise: which probability
digit_surprise = -np.log(0.75)

# %% wrong digit_surprise: minus the logarithm
digit_surprise = np.log(0.25)

# %% wrong digit_surprise: that is the probability
digit_surprise = 1 / 4

# %% wrong digit_surprise: natural
digit_surprise = 2

# %% right digit_surprise
digit_surprise = 1.39

# %% right digit_zeros
digit_zeros = ("b1", "w1")

# %% right digit_zeros
digit_zeros = {"w1", "b1"}

# %% right digit_zeros
torch.manual_seed(3)
digit_zeros = []
tried = [*layer(64, 32), torch.zeros(32, 10, requires_grad=True), torch.zeros(10, requires_grad=True)]
F.cross_entropy(network(images[:9], *tried), labels[:9]).backward()
for name, p in zip(("w1", "b1", "w2", "b2"), tried):
    if not p.grad.any():
        digit_zeros.append(name)

# %% wrong digit_zeros: hidden units
digit_zeros = ["w1", "b1", "w2"]

# %% wrong digit_zeros: 1 more
digit_zeros = ["w1"]

# %% wrong digit_zeros: in a list
digit_zeros = "w1 and b1"

# %% wrong digit_zeros: gradient of the scores
digit_zeros = ["w1", "b1", "b2"]


# %% right digit_loss
def digit_loss(scores, labels):
    return F.cross_entropy(scores, labels)


# %% right digit_loss
def digit_loss(scores, labels):
    log_probabilities = scores.log_softmax(-1)
    return -log_probabilities.gather(1, labels.unsqueeze(1)).mean()


# %% right digit_loss
def digit_loss(scores, labels):
    scores = scores - scores.detach().amax(dim=1, keepdim=True)
    one_hot = F.one_hot(labels, scores.shape[1])
    return -((scores - scores.exp().sum(1, keepdim=True).log()) * one_hot).sum() / len(scores)


# %% right digit_loss
def digit_loss(scores, labels):
    total = 0
    for row, label in zip(scores, labels):
        row = row - max(row.tolist())
        total = total + row.exp().sum().log() - row[label.item()]
    return total / len(labels)


# %% wrong digit_loss: overflows
def digit_loss(scores, labels):
    return (scores.exp().sum(1).log() - scores[torch.arange(len(labels)), labels]).mean()


# %% wrong digit_loss: expected
def digit_loss(scores, labels):
    return F.cross_entropy(scores, labels, reduction="sum")


# %% wrong digit_loss: it gives inf
def digit_loss(scores, labels):
    return -scores.softmax(1)[torch.arange(len(labels)), labels].log().mean()


# %% wrong digit_loss: does not require grad
def digit_loss(scores, labels):
    return F.cross_entropy(scores.detach(), labels)


# %% wrong digit_loss: the result
def digit_loss(scores, labels):
    return scores.logsumexp(1).mean()


# %% right digit_training
def digit_training(loss, parameters, steps, rate):
    optimizer = optim.SGD(parameters, lr=rate)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        now = loss()
        now.backward()
        optimizer.step()
        losses.append(float(now))
    return losses


# %% right digit_training
def digit_training(loss, parameters, steps, rate):
    losses = []
    for _ in range(steps):
        now = loss()
        losses.append(now.detach())
        for p, slope in zip(parameters, torch.autograd.grad(now, parameters)):
            p.data -= rate * slope
    return losses


# %% right digit_training
@torch.no_grad()
def digit_training(loss, parameters, steps, rate):
    def one_step():
        with torch.enable_grad():
            now = loss()
        now.backward()
        for p in parameters:
            p.sub_(p.grad, alpha=rate)
            p.grad.zero_()
        return now.item()

    return [one_step() for _ in range(steps)]


# %% wrong digit_training: have not changed
# -         with torch.no_grad():
# -             for p in parameters:
# -                 p -= rate * p.grad
# +         for p in parameters:
# +             p = p - rate * p.grad

# %% wrong digit_training: gradient of an earlier step
# -     for _ in range(steps):
# -         for p in parameters:
# -             p.grad = None
# +     for _ in range(steps):


# %% wrong digit_training: no_grad
def digit_training(loss, parameters, steps, rate):
    losses = []
    for _ in range(steps):
        now = loss()
        now.backward()
        for p in parameters:
            p -= rate * p.grad
        losses.append(now.item())
    return losses


# %% wrong digit_training: keep their graphs
# -         losses.append(now.item())
# +         losses.append(now)


# %% wrong digit_training: losses in a list
def digit_training(loss, parameters, steps, rate):
    for _ in range(steps):
        for p in parameters:
            p.grad = None
        loss().backward()
        with torch.no_grad():
            for p in parameters:
                p -= rate * p.grad


# %% wrong digit_training: the loss before step 2
# -                 p -= rate * p.grad
# +                 p += rate * p.grad


# %% right digit_momentum
def digit_momentum(loss, parameters, steps, rate, momentum):
    optimizer = optim.SGD(parameters, lr=rate, momentum=momentum)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses.append(loss())
        losses[-1].backward()
        losses[-1] = losses[-1].item()
        optimizer.step()
    return losses


# %% right digit_momentum
def digit_momentum(loss, parameters, steps, rate, momentum):
    losses, velocity = [], [0] * len(parameters)
    for _ in range(steps):
        now = loss()
        losses.append(now.item())
        slopes = torch.autograd.grad(now, parameters)
        velocity = [momentum * v + g for v, g in zip(velocity, slopes)]
        with torch.no_grad():
            for p, v in zip(parameters, velocity):
                p.copy_(p - rate * v)
    return losses


# %% right digit_momentum
def digit_momentum(loss, parameters, steps, rate, momentum):
    losses, velocity = [], {p: torch.zeros(p.shape) for p in parameters}
    for _ in range(steps):
        now = loss()
        now.backward()
        losses.append(now.item())
        for p in parameters:
            velocity[p].mul_(momentum).add_(p.grad)
            p.data = p.data - rate * velocity[p]
            p.grad = None
    return losses


# %% wrong digit_momentum: velocity
def digit_momentum(loss, parameters, steps, rate, momentum):
    losses = []
    for _ in range(steps):
        velocity = [torch.zeros_like(p) for p in parameters]
        now = loss()
        losses.append(now.item())
        slopes = torch.autograd.grad(now, parameters)
        with torch.no_grad():
            for p, v, g in zip(parameters, velocity, slopes):
                v.mul_(momentum).add_(g)
                p -= rate * v
    return losses


# %% wrong digit_momentum: the loss before step 2
def digit_momentum(loss, parameters, steps, rate, momentum):
    velocity, losses = [torch.zeros_like(p) for p in parameters], []
    for _ in range(steps):
        now = loss()
        losses.append(now.item())
        slopes = torch.autograd.grad(now, parameters)
        with torch.no_grad():
            for p, v, g in zip(parameters, velocity, slopes):
                v.mul_(momentum).add_(g, alpha=1 - momentum)
                p -= rate * v
    return losses


# %% wrong digit_momentum: gradient of one step alone
def digit_momentum(loss, parameters, steps, rate, momentum):
    velocity, losses = [torch.zeros_like(p) for p in parameters], []
    for _ in range(steps):
        now = loss()
        now.backward()
        losses.append(now.item())
        with torch.no_grad():
            for p, v in zip(parameters, velocity):
                v.mul_(momentum).add_(p.grad)
                p -= rate * v
    return losses


# %% right digit_momentum
def digit_momentum(loss, parameters, steps, rate, momentum):
    velocity, losses = [0.0] * len(parameters), []
    for _ in range(steps):
        now = loss()
        now.backward()
        losses.append(now.item())
        with torch.no_grad():
            for i, p in enumerate(parameters):
                velocity[i] = momentum * velocity[i] + p.grad
                p.sub_(rate * velocity[i])
                p.grad = None
    return np.array(losses)


# %% wrong digit_momentum: 1 losses
def digit_momentum(loss, parameters, steps, rate, momentum):
    velocity = [torch.zeros_like(p) for p in parameters]
    for _ in range(steps):
        now = loss()
        slopes = torch.autograd.grad(now, parameters)
        with torch.no_grad():
            for p, v, g in zip(parameters, velocity, slopes):
                v.mul_(momentum).add_(g)
                p -= rate * v
    return [now.item()]
