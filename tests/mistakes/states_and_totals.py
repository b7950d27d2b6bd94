"""States and totals that keep a graph."""

import numpy as np

import minigrad as torch

from . import mistake


@mistake("TanhBackward0", "second time", "(3,)", remedy="h = h.detach()")
def hidden_state_not_detached():
    """The hidden state of one batch is passed to the next with its whole history.

    The second backward reaches through it into the first batch's graph, which is freed.
    """
    w = torch.ones(3, requires_grad=True)
    h = torch.zeros(3)
    for _ in range(2):
        h = torch.tanh(w * h + 1)  # - <=
        # + h = torch.tanh(w * h.detach() + 1)
        loss = h.sum()
        loss.backward()  # <-


@mistake("Backward0", "second time", remedy="detach()")
def hidden_state_of_an_lstm():
    """The state of an LSTM, a tuple of two tensors, is passed to the next batch with its history.

    Detach both tensors.
    """
    lstm = torch.nn.LSTM(2, 3)
    state = None
    for _ in range(2):
        out, state = lstm(torch.ones(4, 1, 2), state)  # <=
        out.sum().backward()  # <-
        # + state = tuple(s.detach() for s in state)


@mistake("MulBackward0", "trying to backward through the graph a second time", "(1, 2, 4)", remedy="h = h.detach()")
def state_of_an_lstm_in_training():
    """The state of an LSTM goes from batch to batch with its history.

    The second `backward` would pass through the first batch, whose saved tensors are freed. The error names the line that
    passes the state on.
    """
    rnn, fc, h = torch.nn.LSTM(3, 4), torch.nn.Linear(4, 1), None
    optimizer = torch.optim.SGD([*rnn.parameters(), *fc.parameters()], lr=0.1)
    for _ in range(2):
        out, h = rnn(torch.ones(5, 2, 3), h)  # <-
        # + h = [t.detach() for t in h]
        loss = fc(out).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@mistake("backward", "operations", "rounds", remedy="h = h.detach()", says="growing-graph")
def growing_state_retained():
    """retain_graph=True hides that a hidden state is never detached.

    There is no error any more, but each backward passes through all batches so far: every round is slower than the last,
    and memory finally runs out.
    """
    w = torch.ones(3, requires_grad=True)
    h = torch.zeros(3)
    for _ in range(20):
        h = torch.tanh(w * h + 1)  # <=
        h.sum().backward(retain_graph=True)  # <-


def growing_state_retained_corrected():
    w = torch.ones(3, requires_grad=True)
    features = w.tanh()  # one graph for all rounds does not grow
    h = torch.zeros(3)
    for _ in range(20):
        h = torch.tanh(w * h.detach() + 1)
        (h * features).sum().backward(retain_graph=True)
    losses, h = [], torch.zeros(3)
    for _ in range(20):
        h = torch.tanh(w * h + 1)
        losses.append(h.sum())
    for loss in losses:  # each goes further back, but nothing is added in between
        loss.backward(retain_graph=True)


@mistake("backward", "operations", "rounds", "earlier losses", remedy="after the loop", says="growing-graph")
def growing_total_retained():
    """The sum of all losses so far is differentiated in each round, with retain_graph=True.

    Each round passes through all earlier ones again, and adds their gradients again.
    """
    w = torch.ones(3, requires_grad=True)
    total = 0
    for i in range(20):
        total = total + (w * i).pow(2).sum()
        total.backward(retain_graph=True)  # - <-
    # + total.backward(retain_graph=True)


@mistake("MulBackward0", "(3,)", "version", "earlier round", remedy="h = h.detach()")
def step_with_a_retained_state():
    """A hidden state is never detached, retain_graph=True hides it, and an optimizer updates the parameters in between.

    backward reaches an earlier round, whose parameters have been overwritten. A different way to write the update does not
    help: this backward should not reach the earlier round.
    """
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    h = torch.ones(3)
    for _ in range(3):
        h = torch.tanh(w * h)  # - <=
        h.sum().backward(retain_graph=True)  # - <-
        # + h = torch.tanh(w * h.detach())
        # + optimizer.zero_grad()
        # + h.sum().backward()
        optimizer.step()


@mistake("PowBackward0", "second time", "earlier loss", remedy="after the loop")
def running_total_differentiated():
    """Losses are added up in a loop, and the sum so far is differentiated in each round.

    The sum contains the losses of earlier rounds, whose graphs are already freed.
    """
    w = torch.ones(3, requires_grad=True)
    loss = 0
    for i in range(2):
        loss = loss + (w * i).pow(2).sum()
        loss.backward()  # - <-
    # + loss.backward()


@mistake("add_", "()", remedy="loss.item()", says="kept-graph")
def total_that_keeps_graphs():
    """Losses are added up for a report, as tensors, after their backward.

    The sum is tracked, so it keeps the graphs of all rounds, and memory grows.
    """
    w = torch.ones(3, requires_grad=True)
    total = 0  # -
    # + total, exact, both = 0, torch.tensor(0.0), 0
    for i in range(3):
        loss = (w * i).pow(2).sum()
        loss.backward()  # -
        total += loss  # - <-
        # + both += loss
        # + loss.backward(retain_graph=True)
        # + total += loss.item()
        # + exact += loss.detach()
    # + both.backward()


@mistake("add_", "()", remedy="loss.item()", says="kept-graph")
def total_before_backward():
    """A loss is added to a running total for a report just before its backward.

    When the next loss is added, the total still holds the graph of the previous round.
    """
    w = torch.ones(3, requires_grad=True)
    total = torch.tensor(0.0)
    for i in range(3):
        loss = (w * i).pow(2).mean()
        total += loss  # - <-
        # + total += loss.detach()
        loss.backward()
    # + summed = torch.tensor(0.0)
    # + for i in range(3):
    # +     summed += (w * i).pow(2).mean()
    # + summed.backward()


@mistake("numpy", "requires grad", remedy="loss.item()")
def mean_of_tracked_losses():
    """Losses are collected as tensors, and NumPy computes their mean.

    The list holds the graphs of all rounds, and NumPy cannot record its part.
    """
    w = torch.ones(3, requires_grad=True)
    losses = []
    for i in range(2):
        loss = (w * i).pow(2).sum()
        loss.backward()
        losses.append(loss)  # -
        # + losses.append(loss.item())
    return np.mean(losses)  # <-
