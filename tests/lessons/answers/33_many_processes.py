# %% values gradient_over_ranks
72  # right
torch.tensor(72.0)  # right
12.0  # the other losses depend on its x
18.0  # now there are three
216  # the question asks for its gradient
7.0  # is not right


# %% right gradient_of_all
def gradient_of_all(grad, count, all_reduce):
    examples = all_reduce(torch.tensor([count]).float())
    return all_reduce(count * grad).div(examples)


# %% right gradient_of_all
def gradient_of_all(grad, count, all_reduce):
    share = count / all_reduce(torch.tensor(count)).item()
    return all_reduce(share * grad)


# %% wrong gradient_of_all: should count for more
def gradient_of_all(grad, count, all_reduce):
    return all_reduce(grad) / all_reduce(torch.tensor(1.0))


# %% wrong gradient_of_all: divide it by the number of examples
def gradient_of_all(grad, count, all_reduce):
    return all_reduce(grad * count)


# %% wrong gradient_of_all: not by the number of ranks
def gradient_of_all(grad, count, all_reduce):
    return all_reduce(grad * count) / all_reduce(torch.tensor(1.0))


# %% wrong gradient_of_all: ends without calling it
def gradient_of_all(grad, count, all_reduce):
    if count == 0:  # this rank has nothing to say
        return grad
    return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))


# %% wrong gradient_of_all: for (4, 4) examples, the gradient on rank 0
def gradient_of_all(grad, count, all_reduce):
    all_reduce(grad * count)
    return grad


# %% right all_gather_backward
def all_gather_backward(grad, rank, size, all_reduce):
    rows = len(grad) // size
    return all_reduce(grad)[rank * rows : (rank + 1) * rows]


# %% right all_gather_backward
def all_gather_backward(grad, rank, size, all_reduce):
    return all_reduce(grad).unflatten(0, (size, -1))[rank]


# %% wrong all_gather_backward: the others have copies of its rows
def all_gather_backward(grad, rank, size, all_reduce):
    return grad.chunk(size)[rank]


# %% wrong all_gather_backward: a rank gives 3 of them
def all_gather_backward(grad, rank, size, all_reduce):
    return all_reduce(grad)


# %% wrong all_gather_backward: the gradient of a sum of losses is a sum
def all_gather_backward(grad, rank, size, all_reduce):
    return all_reduce(grad).chunk(size)[rank] / size


# %% wrong all_gather_backward: those are the rows of rank 0
def all_gather_backward(grad, rank, size, all_reduce):
    return all_reduce(grad).chunk(size)[0]


# %% wrong all_gather_backward: with 2 ranks, the gradient on rank 0
def all_gather_backward(grad, rank, size, all_reduce):
    return all_reduce(grad.chunk(size)[rank])  # of each rank other rows


# %% wrong all_gather_backward: more than 100 times
def all_gather_backward(grad, rank, size, all_reduce):
    while True:
        grad = all_reduce(grad)


# %% right clipped_part
def clipped_part(part, all_reduce):
    squares = all_reduce((part * part).sum())
    return part / squares.sqrt() if squares > 1 else part


# %% right clipped_part
def clipped_part(part, all_reduce):
    norm = all_reduce(part.norm() ** 2) ** 0.5
    return part * (1 / norm).clamp(max=1.0)


# %% wrong clipped_part: all ranks make the same calls
def clipped_part(part, all_reduce):
    if part.norm() <= 1:
        return part
    return part / all_reduce(part.square().sum()).sqrt()


# %% wrong clipped_part: by the norm of the rank's own part
def clipped_part(part, all_reduce):
    return part / part.norm().clamp(min=1.0)


# %% wrong clipped_part: norms do not add up
def clipped_part(part, all_reduce):
    return part / all_reduce(part.norm()).clamp(min=1.0)


# %% wrong clipped_part: not above 1
def clipped_part(part, all_reduce):
    return part / all_reduce(part.square().sum()).sqrt()


# %% wrong clipped_part: divided by the square of the norm
def clipped_part(part, all_reduce):
    return part / all_reduce(part.square().sum()).clamp(min=1.0)


# %% wrong clipped_part: different shapes
def clipped_part(part, all_reduce):
    rows = torch.ones(int(part[0] > 0.5) + 1)
    return part / all_reduce(rows).sum()
