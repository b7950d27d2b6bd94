"""Run correct programs that resemble a mistake: no warning may come."""

import inspect
import sys
import warnings

import minigrad as torch
from minigrad import nn

X, Y = torch.arange(12.0).reshape(4, 3) / 12, torch.arange(4.0).reshape(4, 1)


def trained(model, loss=lambda out: out.pow(2).mean(), steps=2, kind=torch.optim.SGD, x=X):
    """Train a model for some steps; return its optimizer."""
    optimizer = kind(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(x)).backward()
        optimizer.step()
    return optimizer


def with_dropout():
    """Return a small model whose forward depends on the mode."""
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.Linear(4, 1))


def programs(module):
    """Return the functions of a module that run without arguments: its programs."""
    found = [f for f in vars(sys.modules[module]).values() if inspect.isfunction(f) and f.__module__ == module]
    return [f for f in found if not inspect.signature(f).parameters]


def run_quietly(program, mode):
    """Run a program in a mode; any warning is an error."""
    with mode(), warnings.catch_warnings():
        warnings.simplefilter("error")
        program()
