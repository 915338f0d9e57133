package mcp

// StartedVariable is a variable of the environment of each server that is a
// process: its value is the server's name. fettle mcp serve that finds it uses no
// servers of its own, whatever its settings say, since one of them may be the one
// that it is: behind a script nothing else tells that, and each would start the
// next without end. A server must leave it to what it starts.
const StartedVariable = "FETTLE_MCP_SERVER"
