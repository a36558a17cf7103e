"""Cases for CNI: plugins (CNI-PLG), runtimes (CNI-RT) and configurations (CNI-CFG)."""
