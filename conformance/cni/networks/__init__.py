"""Network configurations under test, sound ones and ones with a mistake."""
