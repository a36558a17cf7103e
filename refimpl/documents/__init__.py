"""Strict readers of documents: every error and every oddity has a line and a column."""

from refimpl.documents.document import Document, DocumentError, Note, Pointer

__all__ = ["Document", "DocumentError", "Note", "Pointer"]
