"""Published studies: their data as imports, their tables measured again."""
