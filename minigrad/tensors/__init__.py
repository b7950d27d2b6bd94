"""The Python face of tensors: conversion to and from other types, printing, pickling."""
