"""How people come from elsewhere and how their platform is spoken to. Nothing here writes rows."""
