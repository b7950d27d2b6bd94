"""A function in which a line cannot be compiled runs in parts: that line as it is, what stands around it compiled."""

import contextlib
import importlib
import linecache
import random
import warnings

import pytest

import minigrad as torch
from minigrad import compile
from minigrad.errors import MinigradWarning

w = torch.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)


def decides(x):
    y = (x @ w).tanh() * 2
    if y.sum().item() > 0:
        y = y * 3
    z = y.exp() + x
    return z.sin()


def returns_early(x):
    y = (x * w).sum(0)
    if y.sum() > 0:
        return y * 10
    return y.exp() * 2


def masked(x):
    y = x * 2 + w
    total = y[y > 0].sort().values.sum()
    return total / y.sin().abs().sum() + y.mean()


def loops(x):
    y = x.sin() * 2
    for k in range(3):
        if y.sum() > k:
            y = y * 0.5
    return y.cos() + w


def twice(x, *more, scale=2.0, **named):
    y = x * scale + more[0]
    print("first", end="")
    y = y.tanh() * named["last"] + w
    print("second", end="")
    return {"y": y.exp(), "scale": scale * 2}


def one_line(x):
    y = x * 2
    print(end="")
    y = y.sin() + w  # noqa: E702
    if y.sum().item() > 0:
        y = y * 3  # noqa: E701
    return y + x


def set_in_a_branch(x):
    y = x + w
    if x.shape[0] > 1:
        y = y * 2
    print(end="")
    return y.exp()


def skips(x):
    total = w * 0
    for k in range(5):
        if k == 1:
            continue
        y = (x * k).sin()
        if y.sum().item() > 3:
            total = total + y.cos()
            if k == 3:
                break
        else:
            total = total * 2 + y.exp()
        last = y.sum(0) * 2
    else:
        total = total + last.tanh()
    return total * 2 + w


def remembers(x):
    y = w
    for k in range(3):
        if k:
            y = y * before.cos()  # noqa: F821
        before = x.sin() * k  # noqa: F841
        print(end="")
    return y


def halves(x):
    y, n = (x * w).sin() + 1, 0
    while y.abs().sum().item() > 1 and n < 5:
        n = n + 1
        y = y.sin() * 0.5 + w * 0.1
    with torch.enable_grad():
        z = y.cos()
        print(end="")
        z = z * n + y
    return z


class Prints(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        y = x.sin() * self.scale
        print(end="")
        return y.exp() * w

    def twice(self, x):
        return self(x * 2) + self(x + 1)


class Around(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Prints(1.5), torch.nn.Sequential(torch.nn.Tanh(), Prints(0.5), torch.nn.Sigmoid())

    def forward(self, x):
        x = self.first(x.sin() * 2).cos()
        return self.second(x + 1) * 2 + self.first.twice(x)


around = Around()


def calls(x):
    y = helped(x * 2).cos() + w
    return around(y).tanh() * 2


def helped(x):
    y = x.sin() * w
    return y.exp() * 2 if y.sum().item() > 0 else y * 3


def set_in_a_loop(x):
    y = x * 2
    for k in range(x.shape[0] - 1):
        z = y * k + w
        print(end="")
    return z + 1 if x.shape[0] > 1 else y + 1


def keeps(x):
    parts = [x * 2, x + 1]
    first, rest = parts[0].sin(), parts[1].cos()
    print(end="")
    rest *= 2
    return first + rest + w


def comprehends(x):
    rows = [x * i for i in range(3)]
    with torch.enable_grad():
        total = sum([row.sin() for row in rows]) + w
    print(end="")
    other = [total * i for i in range(2)]
    x = [x + 1 for x in other]
    return x[1] * len([i for i in range(4) if i])


def imports(x):
    import math

    y = x * 2
    print(end="")
    return y * math.pi + w


def walrus(x):
    y = (half := x / 2) + 1
    print(end="")
    return y * half + w


def names_in_conditions(x):
    if (total := x.sum().item()) > 1:
        x = x * total
    while (left := x.shape[0] - 1) > 0:
        x = x[:left] * 2 + w[:left]
        print(end="")
    return x + left


def defines_functions(x, scale=2):
    y = x * 2 + w
    doubled = lambda t: t * scale  # noqa: E731

    def added(t, k=3):
        return doubled(t) + y * k

    def power(t, n):
        return t if n == 1 else t * power(t, n - 1)

    z = added(x).sin()
    print(end="")
    z = power(added(z, 2), 3)
    if z.sum().item() > 1:
        z = added(z) * 0.5
    by_size = sorted([z, z + 1], key=lambda t: t.sum().item())
    return doubled(by_size[0]) + torch.func.grad(lambda t: added(t).sum())(x)


def defines_and_prints(x):
    seen = x + w

    def told(t):
        print(end="")
        return t * seen

    y = told(x.sin() * 2) + 1
    return told(y.cos() * 3) * 2


def matches_sizes(x):
    y = x.sin() * 2
    match x.shape:
        case (n,) | (n, _) if n > 5:
            y = y * n
        case [n, *others]:
            y = y * n + len(others)
            print(end="")
            y = y.cos() * n
    return y + w


def fails(x):
    print(end="")
    raise ValueError


def goes_on_after_an_error(x):
    y = x * 2 + w
    with contextlib.suppress(ValueError):
        print(end="")
        y = fails(y * 3)
    return y * 4


def leaves_before_it_is_set(x):
    y = x * 2 + w
    for n in range(3):
        if (y := y.cos() + n).sum().item() > 5:
            break
        x = y * 3
        if x.sum().item() < 3:
            continue
        y = x.sin()
    return x + y


PROGRAMS = {
    comprehends: lambda k: ((torch.ones(2, 2) * k,), {}),
    decides: lambda k: ((torch.ones(2, 2) * (-1) ** k,), {}), returns_early: lambda k: ((torch.ones(2, 2) * (-1) ** k,), {}),
    masked: lambda k: ((torch.ones(2, 2) * k - 1,), {}), loops: lambda k: ((torch.ones(2, 2) * k,), {}),
    twice: lambda k: ((torch.ones(2, 2) * k, torch.ones(2)), {"last": torch.ones(2) * 3, "scale": 1.5 + k}),
    **{f: lambda k: ((torch.ones(2, 2) * (k - 1),), {})
       for f in (keeps, one_line, set_in_a_branch, skips, remembers, halves, set_in_a_loop, calls, around, around.first.twice,
                 imports, walrus, names_in_conditions, defines_functions, defines_and_prints, matches_sizes,
                 goes_on_after_an_error, leaves_before_it_is_set)},
}  # fmt: skip


def leaves(result):
    return [result["y"], torch.tensor(result["scale"])] if isinstance(result, dict) else [result]


@pytest.mark.parametrize("f", PROGRAMS)
def test_programs_in_parts_give_what_eager_code_gives(f, capsys):
    c = compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(5):
            args, named = PROGRAMS[f](k)
            found, wanted = leaves(c(*args, **named)), leaves(f(*args, **named))
            for a, b in zip(found, wanted):
                assert a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-6)
            grads = [torch.autograd.grad(one[0].sum(), w)[0] for one in (found, wanted)]
            assert torch.allclose(*grads, rtol=1e-4, atol=1e-6)
    said = c.explain()
    assert "in parts; line" in said and ("one loop over" in said or "one kernel over" in said)  # on a device
    assert capsys.readouterr().out == "firstsecond" * 10 * (f is twice)


def told(f, *args):
    """Return the text of explain() after a call, and the warnings."""
    c = compile(f)
    with pytest.warns(MinigradWarning, match="runs eagerly in one line") as said:
        c(*args)
    return c.explain(), said


def test_what_stands_in_a_loop_is_compiled():
    first, (text, _) = skips.__code__.co_firstlineno, told(skips, torch.ones(2, 2))
    for line in (5, 7, 11, 12, 15):
        assert f"skips_lines_{first + line}_to_{first + line}:" in text
    assert f"line {first + 6} runs eagerly" in text


def test_a_module_that_is_called_is_compiled_in_parts_of_its_own():
    text, said = told(around, torch.ones(2, 2))
    assert len(said) == 2 and "Prints: " in text and "Sequential: " in text
    first = Prints.forward.__code__.co_firstlineno
    assert f"forward_lines_{first + 1}_to_{first + 1}:" in text and f"forward_lines_{first + 3}_to_{first + 3}:" in text


def test_a_function_that_is_called_is_compiled_in_parts_of_its_own():
    first, (text, _) = helped.__code__.co_firstlineno, told(calls, torch.ones(2, 2))
    assert "helped: " in text and f"helped_lines_{first + 1}_to_{first + 1}:" in text


def test_what_is_not_reached_is_no_reason():
    class Told(torch.nn.Module):
        def forward(self, x):
            if self.training:
                print("training")
            return x.sin() * w

        def tell(self):
            print(random.random())

    c = compile(Told().eval(), fullgraph=True)
    assert torch.allclose(c(torch.ones(2, 2)), torch.ones(2, 2).sin() * w)
    assert "print" not in globals()


def test_what_is_reached_by_its_name_is_a_reason():
    class Draws(torch.nn.Module):
        def forward(self, x):
            return x.sin() * getattr(self, "number")()  # noqa: B009

        def number(self):
            return random.random()

    c, x = compile(Draws()), torch.ones(2)
    with pytest.warns(MinigradWarning, match="it uses random"):
        assert not torch.equal(c(x), c(x))


def test_a_module_with_hooks_runs_as_it_is():
    net, seen = Prints(2.0), []
    net.register_forward_hook(lambda module, given, out: seen.append(1))
    c = compile(net)
    with pytest.warns(MinigradWarning, match="runs eagerly, because"):
        assert torch.equal(c(torch.ones(2, 2)), net(torch.ones(2, 2)))
    assert seen == [1, 1]


history = []


def test_a_list_that_grows_is_the_statement_that_runs_eagerly():
    def f(x):
        loss = (x * w.detach()).sum()
        history.append(loss.detach())
        return loss * 2

    text, _ = told(f, torch.ones(2, 2))
    first = f.__code__.co_firstlineno
    assert f"line {first + 2} runs eagerly" in text and f"f_lines_{first + 1}_to_{first + 1}:" in text
    assert "changes the length of the list history, which outlives the call" in text and len(history) == 1


def test_numpy_arrays_are_one_kind_of_argument():
    import numpy as np

    c = compile(lambda x, a: x * float(a.sum()))
    for k in range(4):
        assert torch.equal(c(torch.ones(2), np.ones(2) * k), torch.ones(2) * 2 * k)
    assert c.explain().count("runs eagerly") == 1 and "1 specialisation" in c.explain()


def test_the_line_is_named_once_and_explain_shows_the_parts():
    c = compile(decides)
    with pytest.warns(MinigradWarning) as said:
        for _ in range(3):
            c(torch.ones(2, 2))
    first = decides.__code__.co_firstlineno
    text = str(said[0].message)
    assert (
        len(said) == 1 and "compile(decides): runs eagerly in one line, because it needs the value of a tensor" in text
    )
    assert f"test_compile_parts.py:{first + 2}: if y.sum().item() > 0" in text
    told = c.explain()
    assert f"in parts; line {first + 2} runs eagerly:" in told
    assert f"decides_lines_{first + 1}_to_{first + 1}: 1 specialisation" in told
    assert f"decides_lines_{first + 4}_to_{first + 5}: 1 specialisation" in told


def test_each_line_of_several_is_named_with_the_function():
    c = compile(twice)
    with pytest.warns(MinigradWarning) as said:
        twice_args = PROGRAMS[twice](1)
        c(*twice_args[0], **twice_args[1])
    first = twice.__code__.co_firstlineno
    assert [str(one.message).partition(":")[0] for one in said] == ["compile(twice)"] * 2
    assert f":{first + 2}: print" in str(said[0].message) and f":{first + 4}: print" in str(said[1].message)


def test_with_fullgraph_it_is_an_error():
    with pytest.raises(RuntimeError, match="needs the value of a tensor"):
        compile(decides, fullgraph=True)(torch.ones(2, 2))


def test_closures_and_globals_are_the_functions_own():
    scale, seen = 2.0, []

    def f(x):
        y = x * scale + w.detach()
        print(end="")
        seen.append(1)
        return y * scale

    c, x = compile(f), torch.ones(2, 2)
    with pytest.warns(MinigradWarning):
        for scale in (2.0, 3.0, 4.0):
            assert torch.allclose(c(x), (x * scale + w.detach()) * scale)
    assert seen == [1, 1, 1]


def maybe_unbound(x):
    if x.shape[0] > 2:
        y = x * 2
    print(end="")
    return y * 3 if x.shape[0] > 2 else x * 5


def inner_function(x):
    y = x * 2

    def later():
        return y * 3

    print(end="")
    y = y + 1
    return later() + y


def with_a_lambda(x):
    y = x * 2
    f = lambda: y * 3  # noqa: E731
    print(end="")
    y = y + 1
    return f() + y


def looks_at_its_variables(x):
    y = x * 2
    print(end="")
    z = y + 1
    return z * len(locals())


def calls_what_comes_later(x):
    y = x * 2

    def scaled(t, k=3):
        return twice_as_much(t).sin() * y * k if k else y

    twice_as_much = lambda t: t * 2  # noqa: E731
    print(end="")
    return scaled(x)


def counts(x):
    calls = 0

    def f(t):
        nonlocal calls
        calls += 1
        return t * calls

    y = f(x) * 2
    print(end="")
    return f(y) + f(x)


def decorates(x):
    @torch.no_grad()
    def f(t):
        return t * 2

    y = f(x) * 2
    print(end="")
    return f(y) + x


def keeps_functions(x):
    functions = []
    for k in range(3):
        functions.append(lambda t: t * k)  # noqa: B023
    y = x * 2
    print(end="")
    return sum([f(y) for f in functions])


def changes_its_argument(x):
    f = lambda: x * 2  # noqa: E731
    print(end="")
    x = x + 1
    return f() + x


def matches(x):
    match x.shape:
        case (n,):
            y = x * n
        case _:
            y = x
    print(end="")
    return y + x


def catches(x):
    try:
        y = x * 2 + torch.ones(3)
    except RuntimeError:
        y = x * 2
    print(end="")
    return y + x


def generates(x):
    y = x * 2
    later = (y * i for i in range(3))
    print(end="")
    y = y + 1
    return sum(later) + y


UNDIVIDED = [maybe_unbound, inner_function, with_a_lambda, looks_at_its_variables, matches, catches, generates, counts,
             calls_what_comes_later, decorates, keeps_functions, changes_its_argument]  # fmt: skip


@pytest.mark.parametrize("f", UNDIVIDED)
def test_what_cannot_be_taken_apart_runs_as_it_is(f):
    c = compile(f)
    with pytest.warns(MinigradWarning, match="runs eagerly, because"):
        for n in (1, 2, 3, 4):
            assert torch.equal(c(torch.ones(n)), f(torch.ones(n)))
    assert "in parts" not in c.explain()


def test_a_function_without_a_text_runs_as_it_is():
    scope = {}
    exec("def f(x):\n    y = x * 2\n    print(end='')\n    return y.sin()", scope)
    with pytest.warns(MinigradWarning, match="runs eagerly, because"):
        assert torch.equal(compile(scope["f"])(torch.ones(2)), (torch.ones(2) * 2).sin())


def test_a_file_that_has_changed_since_is_not_what_runs(tmp_path, monkeypatch):
    path = tmp_path / "changing_program.py"
    text = "def f(x):\n    y = x * 2\n    print(end='')\n    return y.sin()\n"
    path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    f = importlib.import_module("changing_program").f
    path.write_text(text.replace("x * 2", "x * 3"))
    linecache.checkcache()
    c = compile(f)
    with pytest.warns(MinigradWarning, match="runs eagerly, because"):
        assert torch.equal(c(torch.ones(2)), (torch.ones(2) * 2).sin())
    assert "in parts" not in c.explain()


def test_a_mistake_in_a_part_is_the_users_line():
    def f(x):
        y = x * 2
        print(end="")
        z = y + torch.ones(3)
        return z.sin()

    c = compile(f)
    with pytest.warns(MinigradWarning):
        c(torch.ones(3))
    with pytest.raises(RuntimeError, match="z = y \\+ torch.ones"):
        c(torch.ones(2))


def test_pythons_own_random_numbers_are_drawn_at_each_call():
    def f(x):
        y = x.sin() * 2
        scale = random.random()
        return y * scale, scale

    c, x = compile(f), torch.ones(2)
    with pytest.warns(MinigradWarning, match="runs eagerly in one line"):
        found = [c(x) for _ in range(3)]
    assert len({scale for _, scale in found}) == 3
    for y, scale in found:
        assert torch.allclose(y, x.sin() * 2 * scale)


def test_a_training_step_that_prints(capsys):
    def trained(fast):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        x = torch.randn(8, 3)

        def step(k):
            opt.zero_grad()
            loss = (net(x).squeeze(1) - x.sum(1)).square().mean()
            loss.backward()
            opt.step()
            print(f"step {k}: {loss.item():.3f}")

        run = compile(step) if fast else step
        for k in range(5):
            run(k)
        return capsys.readouterr().out

    with pytest.warns(MinigradWarning, match="runs eagerly in one line, because it needs the value"):
        fast = trained(True)
    assert fast == trained(False) and fast.count("step") == 5


def test_a_variable_that_a_round_left_early_has_set():
    def f(x, y, n):
        while n < 3:
            n = n + 1
            x = y.cos() * n
            if n == 3:
                break
            x = y.sin().tolist()
        return x * 2, n

    x, y = torch.zeros(2), torch.tensor([0.5, -1.0])
    with pytest.warns(MinigradWarning, match="runs eagerly in one line"):
        found, n = compile(f)(x, y, 0)
    assert n == 3 and torch.equal(found, f(x, y, 0)[0])


def test_a_variable_that_the_next_round_reads_though_this_one_would_set_it_later():
    def f(x):
        y = x
        for k in range(4):
            x = x + y.cos()
            y = x * 2
            if k % 2:
                continue
            y = x - float(x.sum())
        return x, y

    with pytest.warns(MinigradWarning, match="runs eagerly in one line"):
        found = compile(f)(torch.tensor([0.5, -1.0]))
    assert all(torch.allclose(a, b) for a, b in zip(found, f(torch.tensor([0.5, -1.0]))))


def test_a_variable_that_a_with_sets_anew_is_there_before_it():
    def f(x):
        m, y = 0.5, x.cos()
        with torch.no_grad():
            y = y + float(y.max())
            with torch.no_grad():
                m = y.mean()
            y = y * 2
        return y * m

    with pytest.warns(MinigradWarning, match="runs eagerly in one line"):
        found = compile(f)(torch.tensor([0.5, -1.0]))
    assert torch.allclose(found, f(torch.tensor([0.5, -1.0])))


def test_what_was_set_before_an_error_that_is_suppressed():
    def f(x):
        y = x.cos()
        with contextlib.suppress(ValueError):
            y = y * float(y.max())
            x, y = y * 2, x
            raise ValueError
        return x * 3, y

    with pytest.warns(MinigradWarning, match="runs eagerly in one line"):
        found = compile(f)(torch.tensor([0.5, -1.0]))
    assert all(torch.allclose(a, b) for a, b in zip(found, f(torch.tensor([0.5, -1.0]))))
