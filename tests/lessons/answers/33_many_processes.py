# %% values gradient_over_ranks
72  # right
torch.tensor(72.0)  # right
12.0  # the other losses depend on its x
18.0  # now there are three
216  # the question asks for its gradient
7.0  # is not right


# %% wrong gradient_of_all: ends without calling it
def gradient_of_all(grad, count, all_reduce):
    if count == 0:  # this rank has nothing to say
        return grad
    return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))


# %% changes gradient_of_all
# return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))
#   -> examples = all_reduce(torch.tensor([count]).float()); return all_reduce(count * grad).div(examples)  # right
# return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))
#   -> share = count / all_reduce(torch.tensor(count)).item(); return all_reduce(share * grad)  # right
# return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))
#   -> return all_reduce(grad) / all_reduce(torch.tensor(1.0))  # should count for more
# return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))
#   -> return all_reduce(grad * count)  # divide it by the number of examples
# float(count) -> 1.0  # not by the number of ranks
# return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))
#   -> all_reduce(grad * count); return grad  # for (4, 4) examples, the gradient on rank 0


# %% wrong all_gather_backward: with 2 ranks, the gradient on rank 0
def all_gather_backward(grad, rank, size, all_reduce):
    return all_reduce(grad.chunk(size)[rank])  # of each rank other rows


# %% wrong all_gather_backward: more than 100 times
def all_gather_backward(grad, rank, size, all_reduce):
    while True:
        grad = all_reduce(grad)


# %% changes all_gather_backward
# return all_reduce(grad).chunk(size)[rank]
#   -> rows = len(grad) // size; return all_reduce(grad)[rank * rows : (rank + 1) * rows]  # right
# return all_reduce(grad).chunk(size)[rank] -> return all_reduce(grad).unflatten(0, (size, -1))[rank]  # right
# return all_reduce(grad).chunk(size)[rank] -> return grad.chunk(size)[rank]  # the others have copies of its rows
# return all_reduce(grad).chunk(size)[rank] -> return all_reduce(grad)  # a rank gives 3 of them
# return all_reduce(grad).chunk(size)[rank]
#   -> return all_reduce(grad).chunk(size)[rank] / size  # the gradient of a sum of losses is a sum
# return all_reduce(grad).chunk(size)[rank] -> return all_reduce(grad).chunk(size)[0]  # those are the rows of rank 0


# %% wrong clipped_part: all ranks make the same calls
def clipped_part(part, all_reduce):
    if part.norm() <= 1:
        return part
    return part / all_reduce(part.square().sum()).sqrt()


# %% changes clipped_part
# norm = all_reduce(part.square().sum()).sqrt() -> squares = all_reduce((part * part).sum())
#   return part / norm.clamp(min=1.0) -> return part / squares.sqrt() if squares > 1 else part  # right
# norm = all_reduce(part.square().sum()).sqrt() -> norm = all_reduce(part.norm() ** 2) ** 0.5
#   return part / norm.clamp(min=1.0) -> return part * (1 / norm).clamp(max=1.0)  # right
# drop norm = all_reduce(part.square().sum()).sqrt()
#   return part / norm.clamp(min=1.0) -> return part / part.norm().clamp(min=1.0)  # by the norm of the rank's own part
# drop norm = all_reduce(part.square().sum()).sqrt()
#   return part / norm.clamp(min=1.0) -> return part / all_reduce(part.norm()).clamp(min=1.0)  # norms do not add up
# drop norm = all_reduce(part.square().sum()).sqrt()
#   return part / norm.clamp(min=1.0) -> return part / all_reduce(part.square().sum()).sqrt()  # not above 1
# drop norm = all_reduce(part.square().sum()).sqrt()
#   norm.clamp -> all_reduce(part.square().sum()).clamp  # divided by the square of the norm
# norm = all_reduce(part.square().sum()).sqrt() -> rows = torch.ones(int(part[0] > 0.5) + 1)
#   return part / norm.clamp(min=1.0) -> return part / all_reduce(rows).sum()  # different shapes
