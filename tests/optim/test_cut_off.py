"""A parameter without a gradient: the warning names the line that cut it off, and no line that is not on the way."""

import linecache
import textwrap
import warnings

import pytest

HEADER = """\
import minigrad as torch
from minigrad import nn

a = torch.full((3, 4), 0.5, requires_grad=True)
b = torch.full((4, 2), 0.5, requires_grad=True)


def train(network, parameters=None):
    optimizer = torch.optim.Adam(parameters or [a, b])
    for _ in range(2):
        optimizer.zero_grad()
        loss = network(torch.ones(5, 3)).square().mean()
        loss.backward()
        optimizer.step()


"""


def warned(*parts):
    """Return the lines that warnings name, and the text of the warnings, of a program."""
    text = HEADER + "\n".join(map(textwrap.dedent, parts))
    file = f"<program {abs(hash(text))}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        exec(compile(text, file, "exec"), {"__name__": "program"})
    message = "\n".join(str(w.message) for w in seen)
    places = [q.partition(": ")[2] for q in message.splitlines() if q.startswith(f"  at {file}:")]
    return sorted(set(places)), message


THRESHOLDS = {
    "s[v > 0.5] = 1.0": "s[v > 0.5] = 1.0",
    "mask = v > 0.5; s[mask] = 1.0": "mask = v > 0.5; s[mask] = 1.0",
    "s = (v > 0.5).float()": "s = (v > 0.5).float()",
    "s = torch.where(v > 0.5, 1.0, 0.0)": "s = torch.where(v > 0.5, 1.0, 0.0)",
    "s = torch.gt(v, 0.5) * 1.0": "s = torch.gt(v, 0.5) * 1.0",
    "s = torch.eye(4)[v.argmax(1)]": "s = torch.eye(4)[v.argmax(1)]",
    "s = s.masked_fill(v > 0.5, 1.0)": "s = s.masked_fill(v > 0.5, 1.0)",
    "s = torch.eye(4)[v.topk(1, 1).indices[:, 0]]": "s = torch.eye(4)[v.topk(1, 1).indices[:, 0]]",
    "s = torch.ones(5, 4) if v.sum() > 0 else s": "s = torch.ones(5, 4) if v.sum() > 0 else s",
    "s = (v > 0.5).logical_not().float()": "s = (v > 0.5).logical_not().float()",
}


@pytest.mark.parametrize("line", THRESHOLDS)
@pytest.mark.parametrize("reset", ["s.detach()", "s.detach() if cut else s", "s"])
def test_a_threshold_is_named_and_not_a_detach_of_its_result(line, reset):
    places, message = warned(f"""
        def fire(v):
            s = torch.zeros_like(v)
            {line}
            return s

        def network(x, cut=False):
            level, fired = torch.zeros(5, 4), []
            for _ in range(2):
                s = fire(level - 0.1)
                reset = {reset}
                level = (0.9 * level + x @ a) * (1 - reset)
                fired.append(s)
            return torch.stack(fired).sum(0) @ b

        train(network)
    """)
    assert places == [line] and "(3, 4) has never received a gradient" in message


def test_a_flag_that_is_off_takes_its_branch_out():
    places, _ = warned("""
        class Net(nn.Module):
            def __init__(self, stop):
                super().__init__()
                self.stop, self.first, self.last = stop, nn.Linear(3, 4), nn.Linear(4, 2)
            def forward(self, x):
                h = self.first(x)
                if self.stop:
                    h = h.data
                return self.last((h > 0).float())

        net = Net(False)
        train(net, list(net.parameters()))
    """)
    assert places == ["return self.last((h > 0).float())"]


EVALUATIONS = """
    with torch.no_grad():
        out = net(torch.ones(8, 3))
    score = net(torch.ones(8, 3)).detach()
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        out = net(torch.ones(8, 3))
        loss = (out - 1).square().mean()
        history = [loss.item(), (out > 0).float().mean().item()]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_layer_that_forward_never_uses_is_named():
    places, message = warned(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(3, 2), nn.PReLU()
                self.hidden = nn.PReLU()
            def forward(self, x):
                return self.last(self.last(self.first(x)))

        net = Net()
    """,
        EVALUATIONS,
    )
    assert places == ["self.hidden = nn.PReLU()"]
    assert "hidden.weight of shape (1,) has never received a gradient" in message
    assert "Net.forward never uses self.hidden" in message
    assert "no_grad" not in message


@pytest.mark.parametrize("way", ["self.last(self.hidden(self.first(x)))", "self.tail(self.first(x))",
                                 "self.last(getattr(self, 'hid' + 'den')(self.first(x)))"])  # fmt: skip
def test_layers_that_some_method_uses_are_not_said_to_be_unused(way):
    places, message = warned(
        f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(3, 2), nn.PReLU()
                self.hidden = nn.PReLU()
            def tail(self, x):
                return self.last(self.hidden(x))
            def forward(self, x):
                return {way}

        net = Net()
    """,
        EVALUATIONS,
    )
    assert not message


def test_an_assignment_that_a_later_one_replaces_is_not_blamed():
    places, _ = warned("""
        def network(x):
            h = (x @ a).detach()
            h = x @ a
            h = h.argmax(1, keepdim=True).float() * torch.ones(4)
            return h @ b

        train(network)
    """)
    assert places == ["h = h.argmax(1, keepdim=True).float() * torch.ones(4)"]
