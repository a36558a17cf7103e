"""What a driver says of itself, how it speaks gRPC, how its process lives."""
