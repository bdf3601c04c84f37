"""Language models: endpoints and their keys, calls as rows, prompts, budgets."""
