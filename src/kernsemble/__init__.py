"""Kernels that are ensembles.

A support vector machine whose kernel is an inner product of votes is an ensemble of
the voters: of every decision stump, every perceptron, every tree.
"""
