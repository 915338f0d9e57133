// Package layout names the directories, files and variables that fettle uses, so
// that one value decides whose names they are (CR-27).
package layout

// Layout is a set of names. Folder and file names are base names.
type Layout struct {
	Name        string // as given to --layout
	Dir         string // settings directory, in the home directory and in the project
	ContextFile string // file that steers the model
	IgnoreFile  string // ignore rules of the agent's own
	EnvPrefix   string // of environment variables, with its underscore
	SystemDir   string // absolute: settings for every user of the machine

	// CommandMarker is the environment variable that is 1 in every command that
	// is run, so that programs can tell.
	CommandMarker string

	TrustVariables []string // environment variables that say whether the directory is trusted, the first one given wins

	// FullContent says that the result of a change shows the whole file, however long,
	// unless settings or parameters say otherwise.
	FullContent bool

	// ToolNames are names under which built-ins are declared to the model
	// instead of their own; a tool in it is also in the default set, if there
	// is what it needs.
	ToolNames map[string]string
}

// Fettle is the default layout: fettle's own names.
func Fettle() Layout {
	return Layout{
		Name: "fettle", Dir: ".fettle", ContextFile: "FETTLE.md", IgnoreFile: ".fettleignore",
		EnvPrefix: "FETTLE_", CommandMarker: "FETTLE", SystemDir: "/etc/fettle", TrustVariables: []string{"FETTLE_TRUST_WORKSPACE"},
	}
}

// Gemini uses the names of the program that fettle's architecture comes from,
// so that existing directories work unchanged, and declares its edit tool.
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
