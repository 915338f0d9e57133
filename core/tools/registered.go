package tools

// RegisteredWhen says on what it depends whether a session has a built-in tool,
// as the end of a sentence: "It is registered …". "" is said of a tool that
// every session has which selects it by default or by name, and of a name that
// no built-in tool has. name may be an alias.
func RegisteredWhen(name string) string {
	switch name {
	case "edit", "replace":
		return "where tools.core or --core-tools names it; with the layout gemini always, as replace"
	case "web_search", "google_web_search":
		return "where there is a search service: the setting web.search.url names one, or the variable GEMINI_API_KEY holds a key of Gemini's"
	case "activate_skill":
		return "while there is a skill that is not disabled"
	case "write_todos":
		return "unless the setting useWriteTodos is false"
	}
	return ""
}

// DeclaredWhen says likewise when a model is told of a built-in tool that is
// registered: "It is declared …". "" is said of those that it is always told of.
func DeclaredWhen(name string) string {
	switch name {
	case "ask_user":
		return "while there is somebody to ask"
	case "enter_plan_mode":
		return "in every approval mode but plan, while there is somebody to ask"
	case "exit_plan_mode":
		return "in the approval mode plan"
	case "tool_search":
		return "while the declarations of MCP servers' and discovered tools are held back: see tools.deferSchemasAbove"
	}
	return ""
}
