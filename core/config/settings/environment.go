package settings

import (
	"strings"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// fromEnvironment returns the layer of variables: of those set by .env files of
// the project, or of all others.
func fromEnvironment(names layout.Layout, env environment, ofProject bool) *layerOf {
	l := newLayer(LayerEnvironment, "the environment")
	l.ofProject = ofProject
	get := func(name string) (string, bool) {
		value, ok := env.get(name)
		return value, ok && env.project[name] == ofProject
	}
	give := func(path, variable string, value any) {
		k := known().byPath[path]
		e := &entry{key: k, layer: LayerEnvironment, source: "the variable " + variable, written: value}
		if k.kind == aList {
			e.written = commaList(value)
		}
		if file := env.file[variable]; file != "" {
			e.source += " in " + file
		}
		l.entries[path] = e
	}
	for _, k := range known().keys {
		if k.Variable == "" {
			continue
		}
		for _, name := range variables(names, k.Variable) {
			if value, ok := get(name); ok && value != "" {
				give(k.Path, name, value)
				break
			}
		}
	}
	for _, name := range variables(names, "SANDBOX") { // true, false, auto, none, landlock, or a program
		value, ok := get(name)
		if !ok || value == "" {
			continue
		}
		switch strings.ToLower(value) {
		case "true", "1":
			give("tools.sandbox.enabled", name, true)
		case "false", "0", sandboxNone:
			give("tools.sandbox.enabled", name, false)
		default:
			give("tools.sandbox.enabled", name, true)
			give("tools.sandbox.command", name, value)
		}
		break
	}
	return l
}

func commaList(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	list := []any{}
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// environment contains the variables for settings.
type environment struct {
	values  map[string]string
	file    map[string]string // of the variables of a .env file: its path
	project map[string]bool   // names of those set by a file of the project, or of a directory above it
	line    map[string]int    // of the variables of a .env file: their lines
}

func newEnvironment(environ []string) environment {
	env := environment{values: map[string]string{}, file: map[string]string{}, project: map[string]bool{}, line: map[string]int{}}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && name != "" {
			env.values[name] = value
		}
	}
	return env
}

func (e environment) get(name string) (string, bool) {
	v, ok := e.values[name]
	return v, ok
}
