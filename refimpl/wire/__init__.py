"""What every gRPC interface shares: endpoint, server, client, status, journal, faults, control."""
