"""How worlds are worded: a file a domain, in the language that docs/worlds.md explains."""
