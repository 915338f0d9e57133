package tools

import "slices"

// Rename returns t under another name; the previous name becomes an alias. The two share everything else. Error messages
// of a tool of a [Factory] or of [Define] have the new name.
func Rename(t DeclarativeTool, name string) DeclarativeTool {
	spec := t.Spec()
	spec.Aliases = slices.DeleteFunc(append([]string{spec.Name}, spec.Aliases...), func(a string) bool { return a == name })
	spec.Name = name
	return withSpec(t, spec)
}

// withSpec returns t with another Spec, whose name appears in error messages if t supports that.
func withSpec(t DeclarativeTool, spec Spec) DeclarativeTool {
	if b, ok := t.(interface{ withSpec(Spec) DeclarativeTool }); ok {
		return b.withSpec(spec)
	}
	return renamed{t, spec}
}

// renamed is a tool without a factory under another name.
type renamed struct {
	DeclarativeTool
	spec Spec
}

func (t renamed) Spec() Spec { return t.spec }
