"""Scripted chat models that search in three manners, and the modules beside them.

Like a language model they see the messages and the tools' schemas, and nothing else. They share no
code with the agents that they measure: a change of those must not change the instrument.
"""
