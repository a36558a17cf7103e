"""Health and usage of volumes and of the storage behind them."""
