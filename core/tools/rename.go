package tools

import "slices"

// Rename returns t under another name; its own becomes an alias. The two
// share everything else. A tool of a [Factory], or of [Define], refuses
// arguments under its new name.
func Rename(t DeclarativeTool, name string) DeclarativeTool {
	spec := t.Spec()
	spec.Aliases = slices.DeleteFunc(append([]string{spec.Name}, spec.Aliases...), func(a string) bool { return a == name })
	spec.Name = name
	return withSpec(t, spec)
}

// Describe returns t with another description for models. The two share
// everything else.
func Describe(t DeclarativeTool, description string) DeclarativeTool {
	spec := t.Spec()
	spec.Description = description
	return withSpec(t, spec)
}

// withSpec returns t with another Spec, whose name it gives in refusals where
// it can.
func withSpec(t DeclarativeTool, spec Spec) DeclarativeTool {
	if b, ok := t.(interface{ withSpec(Spec) DeclarativeTool }); ok {
		return b.withSpec(spec)
	}
	return renamed{t, spec}
}

// renamed is a tool of somebody's own making under another name.
type renamed struct {
	DeclarativeTool
	spec Spec
}

func (t renamed) Spec() Spec { return t.spec }
