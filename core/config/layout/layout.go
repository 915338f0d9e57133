// Package layout defines the names of the directories, files and variables that
// fettle uses, so that a single value selects a naming scheme.
package layout

import "path"

// Layout is a set of names. Directory and file names are base names.
type Layout struct {
	Name        string // as given to --layout
	Dir         string // settings directory, in the home directory and in the project
	ContextFile string // file with instructions for the model
	IgnoreFile  string // ignore rules of the agent's own
	EnvPrefix   string // of environment variables, with its underscore
	SystemDir   string // absolute: settings for every user of the machine

	// CommandMarker is the environment variable that is set to 1 in every
	// command, so that programs can detect the agent.
	CommandMarker string

	TrustVariables []string // environment variables that state whether the directory is trusted; the first one that is set counts

	// FullContent states that the result of a change shows the whole file,
	// however long, unless settings or parameters override it.
	FullContent bool

	// ToolNames maps built-in tools to the names under which they are declared to
	// the model; a tool in it is also in the default set, if its services are
	// available.
	ToolNames map[string]string
}

// Fettle is the default layout: fettle's own names.
func Fettle() Layout {
	return Layout{
		Name: "fettle", Dir: ".fettle", ContextFile: "FETTLE.md", IgnoreFile: ".fettleignore",
		EnvPrefix: "FETTLE_", CommandMarker: "FETTLE", SystemDir: "/etc/fettle", TrustVariables: []string{"FETTLE_TRUST_WORKSPACE"},
	}
}

// Gemini uses the names of gemini-cli, so that existing directories work
// unchanged, and declares its edit tool.
func Gemini() Layout {
	return Layout{
		Name: "gemini", Dir: ".gemini", ContextFile: "GEMINI.md", IgnoreFile: ".geminiignore",
		EnvPrefix: "GEMINI_", CommandMarker: "GEMINI_CLI", SystemDir: "/etc/gemini-cli",
		TrustVariables: []string{"GEMINI_TRUST_WORKSPACE", "GEMINI_CLI_TRUST_WORKSPACE"},
		FullContent:    true,
		ToolNames: map[string]string{
			"edit": "replace", "search_file_content": "grep_search", "web_search": "google_web_search",
		},
	}
}

// Named returns the layout of that name; "" is fettle's.
func Named(name string) (Layout, bool) {
	switch name {
	case "", "fettle":
		return Fettle(), true
	case "gemini":
		return Gemini(), true
	}
	return Layout{}, false
}

// Plans returns the slash-separated path, relative to the project, of the
// directory to which plan mode may write.
func (l Layout) Plans() string { return path.Join(l.Dir, "plans") }

// PlanDirs returns the directories of plans of all layouts, fettle's first.
func PlanDirs() []string { return []string{Fettle().Plans(), Gemini().Plans()} }
