package extensionstore

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// options returns the settings of userConfig.
func (r *pluginReading) options() []extensions.Setting {
	var given map[string]struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Sensitive   bool   `json:"sensitive"`
	}
	value, has := r.given["userConfig"]
	if has && json.Unmarshal(value, &given) != nil {
		r.omit("userConfig", "It is not an object of options.")
	}
	var all []extensions.Setting
	for _, key := range slices.Sorted(maps.Keys(given)) {
		variable := optionVariable(key)
		if !nameOfVariable().MatchString(variable) {
			r.omit("userConfig."+clip(key), "Its name is not that of a variable.")
			continue
		}
		o := given[key]
		if o.Title == "" {
			o.Title = key
		}
		all = append(all, extensions.Setting{Name: o.Title, Description: o.Description, EnvVar: variable, Sensitive: o.Sensitive})
	}
	return all
}

// optionVariable returns the variable of an option of userConfig.
func optionVariable(key string) string { return "CLAUDE_PLUGIN_OPTION_" + strings.ToUpper(key) }

var (
	optionReference   = lazyregexp.New(`\$\{user_config\.([A-Za-z0-9_]+)\}`)
	variableReference = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}`)
)

// translatedServer returns an MCP server with the variables of fettle, and the variables
// that it takes from the environment.
func translatedServer(value json.RawMessage) (server json.RawMessage, used []string, ok bool) {
	text := strings.NewReplacer("${"+pluginRoot+"}", "${extensionPath}", "${"+projectDir+"}", "${workspacePath}", "${CLAUDE_PROJECT_ROOT}", "${workspacePath}").Replace(string(value))
	text = optionReference().ReplaceAllStringFunc(text, func(ref string) string {
		return "${" + optionVariable(strings.TrimSuffix(strings.TrimPrefix(ref, "${user_config."), "}")) + "}"
	})
	for _, m := range variableReference().FindAllStringSubmatch(text, -1) {
		if name := m[1]; name != "extensionPath" && name != "workspacePath" && !IsOpen(name) && !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return nil, nil, false
	}
	if _, program := members["command"]; program {
		env := map[string]json.RawMessage{}
		_ = json.Unmarshal(members["env"], &env) // the server is checked when it is used
		env[pluginRoot] = json.RawMessage(`"${extensionPath}"`)
		members["env"], _ = json.Marshal(env) // decoded values can be encoded
	}
	server, err := json.Marshal(members)
	return server, used, err == nil
}
