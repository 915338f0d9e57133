package mcp

// StartedVariable is an environment variable of each server that is a process.
// Its value is the server's name. When fettle mcp serve finds it, it uses no
// servers of its own, whatever its settings: one of them may be itself, hidden
// behind a script, and each instance would start the next one without end. A
// server must pass the variable on to the processes that it starts.
const StartedVariable = "FETTLE_MCP_SERVER"
