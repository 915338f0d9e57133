package guard

import (
	"fmt"
	"slices"
	"strings"
)

// Flag is a flag of a command, --NAME VALUE or --NAME=VALUE. Exactly one of its
// targets is set: a flag with Set takes no value.
type Flag struct {
	Name   string
	Value  *string
	Values *[]string // each occurrence adds one
	Set    *bool
	Of     []string // the valid values; nil: any
}

// ParseFlags sets the flags that args contain and returns the other arguments. Those
// after "--" are no flags.
func ParseFlags(args []string, flags ...Flag) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(rest, args...), nil
		}
		name, value, given := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.HasPrefix(arg, "--") {
			rest = append(rest, arg)
			continue
		}
		i := slices.IndexFunc(flags, func(f Flag) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown flag --%.40s", name)
		}
		f := flags[i]
		switch {
		case f.Set != nil && given:
			return nil, fmt.Errorf("the flag --%s takes no value", name)
		case f.Set != nil:
			*f.Set = true
			continue
		case !given && len(args) == 0:
			return nil, fmt.Errorf("the flag --%s needs a value", name)
		case !given:
			value, args = args[0], args[1:]
		}
		if f.Of != nil && !slices.Contains(f.Of, value) {
			return nil, fmt.Errorf("--%s must be one of %s", name, strings.Join(f.Of, ", "))
		}
		if f.Values != nil {
			*f.Values = append(*f.Values, value)
		} else {
			*f.Value = value
		}
	}
	return rest, nil
}
