package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Power is one effect that the files of a project have only because its directory
// is trusted.
type Power struct {
	Key      string `json:"key,omitempty"`      // of the settings, for example "tools.allowed"; "" for a variable
	Variable string `json:"variable,omitempty"` // set by a .env file; "" for a key
	Source   string `json:"source"`             // path of the file
	Line     int    `json:"line,omitempty"`     // 1-based
	Text     string `json:"text"`               // the effect, starting with a verb, on one line: "sends the conversation to the model x". Secrets in it are ***
	Address  string `json:"address,omitempty"`  // scheme and host in a variable; "" for others
	Entry    string `json:"entry,omitempty"`    // of a key whose value is a list: the entry, as written
	Digest   string `json:"digest,omitempty"`   // of a setting of a repository that git may use: what an approval of it records
	Outside  string `json:"outside,omitempty"`  // path of an include directory outside of the project, which requires an approval in addition to trust
}

// String returns "TEXT (SOURCE:LINE)".
func (p Power) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s (%s:%d)", p.Text, p.Source, p.Line)
	}
	return fmt.Sprintf("%s (%s)", p.Text, p.Source)
}

// Powers returns the effects that the project's settings file and .env files have
// only because the project is trusted: first the settings in the order of their
// documentation, then the variables by name. It is empty for an untrusted
// project.
func (r *Result) Powers() []Power {
	var all []Power
	for _, k := range known().keys {
		for _, o := range r.origins[k.Path] {
			if o.byTrust {
				all = append(all, k.powers(o)...)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.projects)) {
		if value, given := r.Env[name]; given && r.projects[name] {
			power := Power{Variable: name, Source: r.env.file[name], Line: r.env.line[name], Address: addressIn(value)}
			if name == "OLLAMA_HOST" { // needs no scheme
				power.Address = cmp.Or(power.Address, addressIn("http://"+value))
			}
			power.Text = "gives the session and its commands the variable " + name
			switch {
			case power.Address != "" && leadsToModels(name):
				power.Text = fmt.Sprintf("sends conversations to %s, by the variable %s", power.Address, name)
			case power.Address != "":
				power.Text += ", the address " + power.Address
			case strings.HasSuffix(name, "_API_KEY"):
				power.Text = "gives the session and its commands the key " + name
			}
			all = append(all, power)
		}
	}
	return all
}

// leadsToModels reports whether a variable has the name of the address of a model provider.
func leadsToModels(name string) bool {
	return strings.HasSuffix(name, "_BASE_URL") || strings.HasSuffix(name, "_ENDPOINT") || name == "OLLAMA_HOST"
}

// addressIn returns scheme and host of a value that is an address, else "".
func addressIn(value string) string {
	if u, err := url.Parse(strings.TrimSpace(value)); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return ""
}

// powers returns the effects of a project's value of the key.
func (k *Key) powers(o Origin) []Power {
	var all []Power
	add := func(line int, entry, text string) {
		all = append(all, Power{Key: k.Path, Source: o.Source, Line: line, Text: strings.Join(strings.Fields(text), " "), Entry: entry})
	}
	value := Masked(k.Path, o.Value)
	list, isList := value.([]any)
	words, known := grants()[k.Path]
	switch {
	case !known:
		add(o.Line, "", fmt.Sprintf("sets %s to %s", k.Path, quote(value)))
	case isList:
		written, _ := o.Value.([]any)
		for i, part := range list {
			line := o.Line
			entry, _ := written[i].(string)
			if at, ok := o.spots[entry]; ok && at.line > 0 {
				line = at.line
			}
			for _, text := range words(fmt.Sprint(part), nil) {
				add(line, entry, text)
			}
		}
	default:
		object, isObject := value.(map[string]any)
		if !isObject {
			for _, text := range words(fmt.Sprint(value), nil) {
				add(o.Line, "", text)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			for _, text := range words(name, object[name]) {
				add(o.Line, "", text)
			}
		}
	}
	return all
}

// grants returns functions that describe the effects of keys which only a trusted
// project may set: of a text, of an entry of a list, or of a name in a map and
// its value. A key without a function is described as set to its value; each key
// that names a program, an address, a directory, a model or a secret requires
// one.
func grants() map[string]func(text string, value any) []string {
	say := func(format string) func(string, any) []string {
		return func(text string, _ any) []string { return []string{fmt.Sprintf(format, text)} }
	}
	return map[string]func(string, any) []string{
		"mcpServers":                  serverWords,
		"hooks":                       hookWords,
		"mcp.serverCommand":           say("starts the program %s as an MCP server"),
		"policyPaths":                 say("takes rules from %s in place of your own policy files"),
		"general.preferredEditor":     say("opens proposed edits in the program %s"),
		"model.name":                  say("sends the conversation to the model %s"),
		"context.fileName":            say("gives the model files named %s as instructions"),
		"context.includeDirectories":  say("reads and writes %s"),
		"tools.allowed":               say("runs %s without approval"),
		"tools.discoveryCommand":      say("runs %s when a session starts, to find tools"),
		"tools.callCommand":           say("runs %s to call the tools found in this way"),
		"tools.shell.pager":           say("gives commands the program %s as pager"),
		"web.allowedHosts":            say("fetches pages from the private host %s"),
		"web.search.url":              say("sends web searches to %s"),
		"security.allowedExtensions":  say("lets extensions be installed from %s"),
		"hooksConfig.disabled":        say("disables the hook %s"),
		"extensions.disabled":         say("disables the extension %s"),
		"telemetry.otlpEndpoint":      say("sends records of sessions to %s"),
		"telemetry.outfile":           say("writes records of sessions to %s"),
		"general.defaultApprovalMode": say("sets the approval mode to %s"),
		"security.environmentVariableRedaction.allowed": say("gives commands the variable %s although it looks secret"),
	}
}

// serverWords describes an MCP server.
func serverWords(name string, value any) []string {
	object, _ := value.(map[string]any)
	text := func(key string) string { s, _ := object[key].(string); return s }
	words := "changes the MCP server " + name
	switch {
	case text("command") != "":
		words = "starts the program " + text("command")
		if args, ok := object["args"].([]any); ok {
			for _, arg := range args {
				words += " " + fmt.Sprint(arg)
			}
		}
		words += " as the MCP server " + name
	case text("httpUrl") != "":
		words = "connects to " + text("httpUrl") + " as the MCP server " + name
	case text("url") != "":
		words = "connects to " + text("url") + " as the MCP server " + name
	}
	if object["trust"] == true {
		words += ", whose tools run without approval"
	}
	return []string{words}
}

// hookWords describes the hooks of an event.
func hookWords(event string, value any) []string {
	groups, _ := value.([]any)
	var all []string
	for _, g := range groups {
		group, _ := g.(map[string]any)
		hooks, _ := group["hooks"].([]any)
		for _, h := range hooks {
			hook, _ := h.(map[string]any)
			all = append(all, fmt.Sprintf("runs %v as a hook on %s", hook["command"], event))
		}
	}
	if all == nil {
		text, _ := json.Marshal(value) // plain values can be encoded
		all = []string{fmt.Sprintf("sets the hooks on %s to %s", event, text)}
	}
	return all
}

// Switch is a value in a project's file that determines the available tools: a
// tool may be missing because of it.
type Switch struct {
	Key    string `json:"key"`
	Source string `json:"source"` // path of the file
	Line   int    `json:"line,omitempty"`
	Text   string `json:"text"` // the effect, starting with a verb, on one line
}

// String returns "KEY (SOURCE:LINE)".
func (s Switch) String() string { return fmt.Sprintf("%s (%s:%d)", s.Key, s.Source, s.Line) }

// Switches returns the keys by which the project's file, trusted or not, disables
// tools, servers, agents or skills. An untrusted project may do so, because it
// tightens.
func (r *Result) Switches() []Switch {
	var all []Switch
	for _, k := range known().keys {
		if !k.Switch {
			continue
		}
		for _, o := range r.origins[k.Path] {
			list, isList := o.Value.([]any)
			idle := isList && len(list) == 0 && k.Merge == Union || o.Value == true
			if o.Layer == LayerProject && o.took && !idle {
				all = append(all, Switch{k.Path, o.Source, o.Line, "disables tools: " + k.Path + " is " + quote(o.Value)})
			}
		}
	}
	return all
}
