package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// own is a set of the flags of a command itself, without those of the program.
type own struct{ names, shorthands []string }

// ownFlags returns the flags that are defined so far.
func ownFlags(f *pflag.FlagSet) own {
	var o own
	f.VisitAll(func(flag *pflag.Flag) {
		o.names = append(o.names, flag.Name)
		if flag.Shorthand != "" {
			o.shorthands = append(o.shorthands, flag.Shorthand)
		}
	})
	return o
}

// flagOf returns the flag of the command that an argument begins with, and whether the
// argument also has its value; nil for any other argument.
func (o own) flagOf(f *pflag.FlagSet, arg string) (flag *pflag.Flag, whole bool) {
	if name, isLong := strings.CutPrefix(arg, "--"); isLong {
		name, _, whole = strings.Cut(name, "=")
		if slices.Contains(o.names, name) {
			flag = f.Lookup(name)
		}
	} else if short, isShort := strings.CutPrefix(arg, "-"); isShort && short != "" {
		if whole = len(short) > 1; slices.Contains(o.shorthands, short[:1]) {
			flag = f.ShorthandLookup(short[:1])
		}
	}
	return flag, flag != nil && (whole || flag.NoOptDefVal != "")
}

// parse sets the flags of the command among its arguments, and returns the other
// arguments. Behind -- no argument is a flag. late are the flags that follow the program.
func (o own) parse(cmd *cobra.Command, args []string) (rest, late []string, err error) {
	f := cmd.Flags()
	if f.ArgsLenAtDash() == 0 {
		return args, nil, nil
	}
	var given []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		flag, whole := o.flagOf(f, args[i])
		if flag == nil {
			rest = append(rest, args[i])
			continue
		}
		if len(rest) > 1 {
			late = append(late, "--"+flag.Name)
		}
		given = append(given, args[i])
		if !whole {
			if i++; i == len(args) || args[i] == "--" {
				return nil, nil, program.UsageError(fmt.Sprintf("--%s requires a value.", flag.Name), "Arguments of the server that look like flags of this command follow --.")
			}
			given = append(given, args[i])
		}
	}
	if err := f.Parse(given); err != nil {
		return nil, nil, &program.ExitError{Code: program.ExitUsage, Err: err}
	}
	return rest, slices.Compact(slices.Sorted(slices.Values(late))), nil
}
