"""What a run knows and never loses: the nouns (task, rollout, visit, harness, edit), the journal and its index.

Imports nothing of the other packages; everything else imports this one.
"""
