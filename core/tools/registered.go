package tools

// RegisteredWhen returns the condition for a built-in tool to be registered, as the end of a sentence: "It is registered
// …". It returns "" for a tool that every session that selects it has, and for an unknown name. name may be an alias.
func RegisteredWhen(name string) string {
	switch name {
	case "edit", "replace":
		return "if tools.core or --core-tools names it; with the layout gemini always, as replace"
	case "apply_patch", "str_replace_based_edit_tool":
		return "if tools.editDialect, --edit-dialect, tools.core or --core-tools names it, or if auto as the dialect selects it by the model"
	case "web_search", "google_web_search":
		return "if a search service is configured: by the setting web.search.url, or by a Gemini key in the variable GEMINI_API_KEY"
	case "activate_skill":
		return "while at least one skill is enabled"
	case "write_todos":
		return "unless the setting useWriteTodos is false"
	}
	return ""
}

// DeclaredWhen returns the condition for a registered built-in tool to be declared to a model, in the same form: "It is
// declared …". It returns "" for tools that are always declared.
func DeclaredWhen(name string) string {
	switch name {
	case "ask_user":
		return "while a front end can answer"
	case "enter_plan_mode":
		return "in every approval mode but plan, while a front end can answer"
	case "exit_plan_mode":
		return "in the approval mode plan"
	case "tool_search":
		return "while the declarations of MCP servers' and discovered tools are deferred: see tools.deferSchemasAbove"
	}
	return ""
}
