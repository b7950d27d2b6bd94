# %% loop_uncleared
loop_uncleared = 0.44


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
