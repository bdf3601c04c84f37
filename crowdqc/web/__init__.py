"""What every request passes through: limits of bodies, headers, errors, probes."""
