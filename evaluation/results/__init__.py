"""Results as documents: typed rows, tables that name their columns once, and their renderers."""
