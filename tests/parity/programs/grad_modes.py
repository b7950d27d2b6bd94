"""`no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`: as contexts, decorators, functions, per thread."""

import threading

from tests.parity.harness import attempt, gives, leaf


@gives([False, True, False, True, False, True])
def no_grad_nested_with_enable_grad(torch):
    x, flags = leaf(torch, [1.0]), []
    with torch.no_grad():
        flags.append((x * 1).requires_grad)
        with torch.enable_grad():
            flags.append((x * 1).requires_grad)
            with torch.no_grad():
                flags.append((x * 1).requires_grad)
            flags.append((x * 1).requires_grad)
        flags.append((x * 1).requires_grad)
    return flags + [(x * 1).requires_grad]


@gives([KeyError, True])
def no_grad_is_left_when_an_exception_passes(torch):
    def fail():
        with torch.no_grad():
            raise KeyError("out")

    return attempt(fail), torch.is_grad_enabled()


@gives([False, True, [[False, False], "hello"], True])
def decorator_on_a_generator_function(torch):
    x = leaf(torch, [1.0])

    @torch.no_grad()
    def numbers():
        flags = [torch.is_grad_enabled()]
        sent = yield (x * 1).requires_grad
        flags.append(torch.is_grad_enabled())
        yield [flags, sent]

    source = numbers()
    first = next(source)
    outside = torch.is_grad_enabled()
    return first, outside, source.send("hello"), torch.is_grad_enabled()


@gives([1, False, "end", True])
def decorated_generator_passes_exceptions_and_return_values(torch):
    @torch.no_grad()
    def numbers():
        try:
            yield 1
        except ValueError:
            yield torch.is_grad_enabled()
        return "end"

    def delegate():
        result = yield from numbers()
        yield result

    source = delegate()
    first = next(source)
    return first, source.throw(ValueError("in")), next(source), torch.is_grad_enabled()


@gives([[False, False, False, False], True])
def decorator_on_a_recursive_function(torch):
    @torch.no_grad()
    def descend(depth):
        return [torch.is_grad_enabled()] + (descend(depth - 1) if depth else [])

    return descend(3), torch.is_grad_enabled()


@gives([True, False, True])
def set_grad_enabled_as_decorator(torch):
    @torch.set_grad_enabled(False)
    def compute():
        return torch.is_grad_enabled()

    return torch.is_grad_enabled(), compute(), torch.is_grad_enabled()


@gives([[True, False, False, True], False, True, False])
def inference_mode_makes_inference_tensors(torch):
    x = leaf(torch, [1.0])
    with torch.inference_mode():
        y = x * 2
        flags = [torch.is_inference_mode_enabled(), torch.is_grad_enabled(), y.requires_grad, y.is_inference()]
    return flags, torch.is_inference_mode_enabled(), y.is_inference(), x.is_inference()


@gives([RuntimeError, True, True])
def inference_tensor_cannot_be_saved_for_backward(torch):
    x = leaf(torch, [3.0])
    with torch.inference_mode():
        c = torch.tensor([2.0])
    y = attempt(lambda: x * c)
    return y, (x + c).requires_grad, (x * c.clone()).requires_grad


@gives([RuntimeError, RuntimeError, RuntimeError])
def inference_tensor_refuses_to_be_tracked_or_written_outside(torch):
    with torch.inference_mode():
        c = torch.tensor([2.0])
        c.add_(1)
    return attempt(c.requires_grad_), attempt(c.add_, 1), attempt(lambda: c._version)


@gives([[True, False], True])
def inference_mode_as_decorator_and_switched_off(torch):
    x = leaf(torch, [1.0])

    @torch.inference_mode()
    def compute(t):
        with torch.inference_mode(False):
            tracked = (t * 2).requires_grad
        return tracked, (t * 2).requires_grad

    @torch.inference_mode(mode=False)
    def usual(t):
        return (t * 2).requires_grad

    return compute(x), usual(x)


@gives([[2.0], 1, False, False])
def inference_mode_in_place_on_normal_tensor(torch):
    x = torch.tensor([1.0])
    with torch.inference_mode():
        x.add_(1)
        v = x[0:1]
    return x, x._version, v.is_inference(), x.is_inference()


@gives([True, False])
def modes_belong_to_a_thread(torch):
    flags = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: flags.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
        flags.append(torch.is_grad_enabled())
    return flags


@gives(True)
def thread_cannot_switch_the_mode_of_another(torch):
    def work():
        torch.set_grad_enabled(False)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return torch.is_grad_enabled()


@gives([6.0])
def backward_in_another_thread(torch):
    x = leaf(torch, [3.0])
    y = (x * x).sum()
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    return x.grad


@gives([16.0])
def threads_accumulate_into_one_leaf(torch):
    x = leaf(torch, [1.0])
    threads = [threading.Thread(target=lambda: (x * 2).sum().backward()) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return x.grad


@gives([False, True, True])
def inference_mode_records_nothing_even_under_enable_grad(torch):
    x = leaf(torch, [1.0])
    with torch.inference_mode():
        with torch.enable_grad():
            y = x * 2
        with torch.inference_mode(False):
            z = x * 2
    return y.requires_grad, y.is_inference(), z.requires_grad


@gives([[False, True, False, True, False, True], [True, True], False, True])
def modes_inside_inference_mode_say_what_was_asked_for(torch):
    seen, x = [], leaf(torch, [1.0])
    with torch.inference_mode():
        seen.append(torch.is_grad_enabled())
        with torch.enable_grad():
            seen.append(torch.is_grad_enabled())
            made = leaf(torch, [1.0])
            with torch.no_grad():
                seen.append(torch.is_grad_enabled())
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
        with torch.set_grad_enabled(True):
            seen.append(torch.is_grad_enabled())
            y = made * x
    with torch.no_grad(), torch.inference_mode(False):
        outside = [torch.is_grad_enabled(), (x * 2).requires_grad]
    return seen, outside, y.requires_grad, torch.is_grad_enabled()
