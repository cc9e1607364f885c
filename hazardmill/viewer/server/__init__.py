"""The local server of ``hazardmill view``: the files of an export, drawn when they are asked for.

It needs the packages of the review app, and uses its checks, its headers and its connections.
"""
