package tools

import "slices"

// Rename returns t under another name; its own becomes an alias. The two
// share everything else.
func Rename(t DeclarativeTool, name string) DeclarativeTool {
	spec := t.Spec()
	spec.Aliases = slices.DeleteFunc(append([]string{spec.Name}, spec.Aliases...), func(a string) bool { return a == name })
	spec.Name = name
	return renamed{t, spec}
}
