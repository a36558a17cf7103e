"""Device plugins: registration, lists, answers, processes (DP-PLG)."""
