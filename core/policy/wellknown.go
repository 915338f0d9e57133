package policy

import (
	"slices"
	"sync"
)

// known describes a built-in tool.
type known struct {
	kind       string
	aliases    []string
	governedBy []string
	effects    []string
	about      string   // the one parameter that an approval is narrowed to; "": all of them
	added      []string // parameters that may be added to an approved call
	lasts      lasting
}

// lasting is the scope of a lasting approval of a tool's calls.
type lasting int

const (
	lastsForLike lasting = iota // calls like the approved one
	lastsForHost                // those of the same host, and the tool
	lastsForTool                // the tool: its calls always differ
	neverLasts                  // none: each call requires approval
)

// Names that the engine itself uses.
const (
	shellTool       = "run_shell_command"
	shellAlias      = "ShellTool"
	backgroundInput = "write_background_input"
	writeFile       = "write_file"
	safePatch       = "safe_patch"
	applyPatch      = "apply_patch"
	textEditor      = "str_replace_based_edit_tool"
	editTool        = "edit"
	agentTool       = "invoke_agent"
)

// wellKnown contains the built-in tools, registered or not.
var wellKnown = map[string]known{
	"read_file":           {kind: "read", effects: readsFiles, about: "file_path"},
	"read_many_files":     {kind: "read", effects: readsFiles, added: []string{"exclude"}},
	"list_directory":      {kind: "search", effects: readsFiles, added: []string{"ignore"}},
	"glob":                {kind: "search", effects: readsFiles, added: []string{"case_sensitive"}},
	"search_file_content": {kind: "search", aliases: []string{"grep_search"}, effects: readsFiles, added: searchOptions},
	writeFile:             {kind: "edit", effects: writesFiles, about: "file_path"},
	safePatch:             {kind: "edit", governedBy: []string{applyPatch, textEditor, editTool, "replace"}, effects: writesFiles, about: "file_path"},
	applyPatch:            {kind: "edit", governedBy: []string{safePatch, textEditor, editTool, "replace", writeFile}, effects: writesFiles, about: "file_path"},
	textEditor:            {kind: "edit", governedBy: []string{safePatch, applyPatch, editTool, "replace", writeFile}, effects: writesFiles, about: "file_path"},
	editTool:              {kind: "edit", aliases: []string{"replace"}, effects: writesFiles, about: "file_path"},

	shellTool:                   {kind: "execute", aliases: []string{shellAlias}, effects: runsAnything},
	"list_background_processes": {kind: "read"},
	"read_background_output":    {kind: "read"},
	backgroundInput:             {kind: "execute", effects: runsAnything},
	"stop_background_process":   {kind: "execute", effects: []string{"run_process"}},

	"web_fetch":  {kind: "fetch", effects: []string{"network"}, lasts: lastsForHost},
	"web_search": {kind: "fetch", aliases: []string{"google_web_search"}, effects: []string{"network"}, lasts: lastsForTool},

	"save_memory":            {kind: "other", effects: writesFiles, lasts: lastsForTool},
	"write_todos":            {kind: "think"},
	"update_topic":           {kind: "think"},
	"get_internal_docs":      {kind: "read"},
	"tool_search":            {kind: "search"},
	"ask_user":               {kind: "communicate", effects: []string{"ask_person"}, lasts: lastsForTool},
	"complete_task":          {kind: "communicate"},
	"activate_skill":         {kind: "other"},
	"enter_plan_mode":        {kind: "other", lasts: neverLasts},
	"exit_plan_mode":         {kind: "other", lasts: neverLasts},
	agentTool:                {kind: "other", about: "agent_name"},
	"read_mcp_resource":      {kind: "read"},
	"list_mcp_resources":     {kind: "search"},
	"tracker_create_task":    {kind: "think"},
	"tracker_update_task":    {kind: "think"},
	"tracker_get_task":       {kind: "read"},
	"tracker_list_tasks":     {kind: "read"},
	"tracker_add_dependency": {kind: "think"},
	"tracker_visualize":      {kind: "read"},
}

var (
	readsFiles   = []string{"read_files"}
	writesFiles  = []string{"read_files", "write_files"}
	runsAnything = []string{"read_files", "write_files", "run_process", "network"}

	// searchOptions lists options that exclude files, or change how results are
	// shown.
	searchOptions = []string{"after", "before", "case_sensitive", "context", "exclude_pattern", "include", "include_pattern",
		"max_matches_per_file", "names_only", "total_max_matches"}
)

// wellKnownAliases maps aliases of built-in tools to their names. It returns a
// pointer, because functions for pointers share their code in small programs.
var wellKnownAliases = sync.OnceValue(func() *map[string]string {
	own := map[string]string{}
	for name, tool := range wellKnown {
		for _, alias := range tool.aliases {
			own[alias] = name
		}
	}
	return &own
})

// WellKnown returns the properties of a built-in tool by one of its names, so
// that rules can be validated in a session that has not registered it. The call
// contains only its name, aliases, governing names, kind and effects. ok is false
// for an unknown tool.
func WellKnown(tool string) (Call, bool) {
	if name, ok := (*wellKnownAliases())[tool]; ok {
		tool = name
	}
	k, ok := wellKnown[tool]
	if !ok {
		return Call{}, false
	}
	c := Call{Tool: tool, Aliases: slices.Clone(k.aliases), GovernedBy: slices.Clone(k.governedBy),
		Kind: k.kind, Effects: slices.Clone(k.effects)}
	c.Mutates = mutates(&c)
	return c, true
}

// governs reports whether the names that govern a built-in tool govern a call of it. They are about changes, so they do
// not govern a call of a stated kind that makes none.
func governs(c *Call, k known) bool {
	return c.Kind == "" || mutates(c) || !mutates(&Call{Kind: k.kind, Effects: k.effects})
}

// mutates reports whether a call changes something: by its declaration, its kind,
// or an effect.
func mutates(c *Call) bool {
	switch c.Kind {
	case "edit", "delete", "move", "execute":
		return true
	}
	return c.Mutates || slices.Contains(c.Effects, "write_files") || slices.Contains(c.Effects, "run_process")
}
