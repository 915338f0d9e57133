package rulefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/policy"
)

// render returns a rule as a [[rule]] block of TOML with the line ending eol. It writes
// only the keys of approvals; the caller compares the parsed block with the rule.
func render(rule policy.Rule, eol string) string {
	lines := []string{"[[rule]]"}
	add := func(key, value string) { lines = append(lines, key+" = "+value) }
	if rule.Name != "" {
		add("name", tomlString(rule.Name))
	}
	add("decision", tomlString(string(rule.Decision)))
	add("priority", strconv.Itoa(rule.Priority))
	add("toolName", tomlStrings(rule.Tools))
	if rule.Server != "" {
		add("mcpName", tomlString(rule.Server))
	}
	if rule.Subagent != "" {
		add("subagent", tomlString(rule.Subagent))
	}
	if len(rule.CommandPrefix) > 0 {
		add("commandPrefix", tomlStrings(rule.CommandPrefix))
	}
	if rule.ArgsPattern != "" {
		add("argsPattern", tomlString(rule.ArgsPattern))
	}
	if rule.AllowRedirection {
		add("allowRedirection", "true")
	}
	if rule.Confined != nil {
		add("confined", strconv.FormatBool(*rule.Confined))
	}
	if rule.Run != "" {
		add("run", tomlString(string(rule.Run)))
	}
	if len(rule.Modes) > 0 {
		add("modes", tomlModes(rule.Modes))
	}
	return strings.Join(lines, eol) + eol
}

// renderTest returns a test as a [[test]] block of TOML with the line ending eol. The
// error is that of arguments without a form in TOML.
func renderTest(test Test, eol string) (string, error) {
	lines := []string{"[[test]]"}
	add := func(key, value string) { lines = append(lines, key+" = "+value) }
	c := test.Call
	var args map[string]any
	if err := json.Unmarshal(c.Params, &args); err != nil {
		return "", err
	}
	command, isLine := args["command"].(string)
	switch {
	case c.Server != "":
		add("toolName", tomlString(c.ServerTool))
		add("mcpName", tomlString(c.Server))
	case !onlyShell([]string{c.Tool}) || !isLine || len(args) > 1:
		isLine = false
		add("toolName", tomlString(c.Tool))
	}
	if c.Server == "" && isLine {
		add("command", tomlString(command))
	} else if len(args) > 0 {
		text, err := tomlValue(args)
		if err != nil {
			return "", err
		}
		add("args", text)
	}
	if c.Subagent != "" {
		add("subagent", tomlString(c.Subagent))
	}
	if c.Confined != "" {
		add("confined", tomlString(c.Confined))
	}
	if c.Mode.String() != policy.ModeDefault.String() {
		add("approvalMode", tomlString(c.Mode.String()))
	}
	add("decision", tomlString(string(test.Expect)))
	return strings.Join(lines, eol) + eol, nil
}

// tomlValue returns a value of JSON as TOML on one line.
func tomlValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlString(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			var err error
			if items[i], err = tomlValue(item); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case map[string]any:
		var items []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			item, err := tomlValue(v[key])
			if err != nil {
				return "", err
			}
			items = append(items, tomlString(key)+" = "+item)
		}
		return "{ " + strings.Join(items, ", ") + " }", nil
	}
	return "", fmt.Errorf("%v has no form in TOML", v)
}

func tomlModes(modes []policy.ApprovalMode) string {
	items := make([]string, len(modes))
	for i, mode := range modes {
		items[i] = tomlString(mode.String())
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// tomlStrings returns a single string as a string, and several as an array.
func tomlStrings(texts []string) string {
	if len(texts) == 1 {
		return tomlString(texts[0])
	}
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = tomlString(text)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// tomlString returns a quoted string, in single quotes if they avoid the escapes of a
// pattern. Invalid UTF-8 becomes U+FFFD.
func tomlString(s string) string {
	plain := true
	for _, r := range s {
		plain = plain && r >= ' ' && r != 0x7f && r != utf8.RuneError
	}
	if plain && strings.ContainsAny(s, `\"`) && !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
