# %% values digit_surprise
1.386  # right
-torch.tensor(0.25).log()  # right
-np.log(0.75)  # which probability
np.log(0.25)  # minus the logarithm
1 / 4  # that is the probability
2  # natural

# %% values digit_zeros
("b1", "w1")  # right
{"w1", "b1"}  # right
["w1", "b1", "w2"]  # hidden units
["w1"]  # 1 more
"w1 and b1"  # in a list
["w1", "b1", "b2"]  # gradient of the scores


# %% right digit_loss
def digit_loss(scores, labels):
    return F.cross_entropy(scores, labels)


# %% changes digit_loss
# return F.cross_entropy(scores, labels)
#   -> log_probabilities = scores.log_softmax(-1); return -log_probabilities.gather(1, labels.unsqueeze(1)).mean()  # right
# return F.cross_entropy(scores, labels)
#   -> return (scores.exp().sum(1).log() - scores[torch.arange(len(labels)), labels]).mean()  # overflows
# return F.cross_entropy(scores, labels) -> return F.cross_entropy(scores, labels, reduction="sum")  # expected
# F.cross_entropy(scores, labels) -> -scores.softmax(1)[torch.arange(len(labels)), labels].log().mean()  # it gives inf
# return F.cross_entropy(scores, labels) -> return F.cross_entropy(scores.detach(), labels)  # does not require grad
# return F.cross_entropy(scores, labels) -> return scores.logsumexp(1).mean()  # the result
