// Package lists builds the lists of a session from which the user chooses: models,
// sessions, settings, themes, MCP servers. Its functions take data and return an
// [interactive.Pick]. They read no files, ask no servers, and do not know the session:
// choosing an item submits a command line, which the session runs.
package lists
