"""The demo project, loaded through the real actions."""
