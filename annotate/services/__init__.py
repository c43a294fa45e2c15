"""The embedded PostgreSQL and Valkey that a first run starts; used only where no server is configured."""
