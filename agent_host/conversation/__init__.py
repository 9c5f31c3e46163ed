"""Conversations in documents: a person writes and sends in any editor, the answer comes below."""
