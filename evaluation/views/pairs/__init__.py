"""Pages of pairwise studies: boards, pairs, workers, agreement, judges. HTTP only."""
