# %% digit_surprise
digit_surprise = np.log(4)

# %% digit_zeros
digit_zeros = ["w1", "b1"]


# %% digit_loss
def digit_loss(scores, labels):
    scores = scores - scores.max(1, keepdim=True).values
    right = scores[torch.arange(len(labels)), labels]
    return (scores.exp().sum(1).log() - right).mean()


# %% digit_training
def digit_training(loss, parameters, steps, rate):
    losses = []
    for _ in range(steps):
        for p in parameters:
            p.grad = None
        now = loss()
        now.backward()
        with torch.no_grad():
            for p in parameters:
                p -= rate * p.grad
        losses.append(now.item())
    return losses


# %% digit_momentum
def digit_momentum(loss, parameters, steps, rate, momentum):
    velocities = [torch.zeros_like(p) for p in parameters]
    losses = []
    for _ in range(steps):
        for p in parameters:
            p.grad = None
        now = loss()
        now.backward()
        with torch.no_grad():
            for p, velocity in zip(parameters, velocities):
                velocity *= momentum
                velocity += p.grad
                p -= rate * velocity
        losses.append(now.item())
    return losses
