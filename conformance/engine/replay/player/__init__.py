"""What a script of a finding is made of: these modules are copied into it as they are, so they
import the standard library, grpcio and each other, and nothing else."""
