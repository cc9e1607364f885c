"""The SAFEL protocol: whether a model refuses what is meant to harm, and which part of planning fails otherwise."""
