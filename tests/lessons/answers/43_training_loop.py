# %% values loop_uncleared
0.44  # right
torch.tensor(0.44)  # right
0.64  # cleared
0.8  # one step
3.6  # w.grad
0.4  # 1.6 is added
0.5  # not right
[0.8, 0.44]  # expected a number


# %% right digit_training
def digit_training(loss, parameters, steps, rate):
    losses = []
    for _ in range(steps):
        now = loss()
        losses.append(now.detach())
        for p, slope in zip(parameters, torch.autograd.grad(now, parameters)):
            p.data -= rate * slope
    return losses


# %% wrong digit_training: have not changed
# -         with torch.no_grad():
# -             for p in parameters:
# -                 p -= rate * p.grad
# +         for p in parameters:
# +             p = p - rate * p.grad

# %% wrong digit_training: gradient of an earlier step
# -         for p in parameters:
# -             p.grad = None


# %% wrong digit_training: no_grad
#       for _ in range(steps):
# -         for p in parameters:
# -             p.grad = None
#           for p in parameters:
# -             p = p - rate * p.grad
# +             p -= rate * p.grad


# %% wrong digit_training: losses in a list
def digit_training(loss, parameters, steps, rate):
    for _ in range(steps):
        for p in parameters:
            p.grad = None
        loss().backward()
        with torch.no_grad():
            for p in parameters:
                p -= rate * p.grad


# %% changes digit_training
# losses.append(now.item()) -> losses.append(now)  # keep their graphs
# p -= rate * p.grad -> p += rate * p.grad  # the loss before step 2


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


# %% changes digit_momentum
# losses = [] -> velocity, losses = [torch.zeros_like(p) for p in parameters], []
#   drop velocity = [torch.zeros_like(p) for p in parameters]
#   v.mul_(momentum).add_(g) -> v.mul_(momentum).add_(g, alpha=1 - momentum)  # the loss before step 2
