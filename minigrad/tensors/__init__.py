"""Python's view of tensors: conversion to and from other types, printing, pickling, hooks."""
