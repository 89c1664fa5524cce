"""Measurements that cells are made of: one module per paper, functions of plain values that return plain values.

A change to one of these modules computes the cells of its paper again.
"""
