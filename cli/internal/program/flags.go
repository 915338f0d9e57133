package program

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/core/standard"
)

// ModelFlag says which model works on a prompt.
const ModelFlag = "model"

// maxResultBytes is the highest value of the flag for the length of results.
const maxResultBytes = 1_000_000_000

// Flags are the flags of every command, as they were given.
type Flags struct {
	Cwd          string
	IncludeDirs  []string
	settingsFile string
	ApprovalMode string
	modeSet      bool
	Model        string
	CoreTools    []string
	CoreToolsSet bool
	allowedTools []string
	excludeTools []string
	Layout       string
	noReadCache  *bool // nil: not given
	maxResult    int   // bytes; 0: not given
	Debug        bool
	DebugFile    string
	PolicyPaths  []string
	skipTrust    bool
	extensions   []string
	extensionsOn bool // extensions were given
}

// modelForms are the ways to name a model with its provider.
func modelForms() string {
	forms := ""
	for _, p := range standard.Providers() {
		forms += p.Name + ":NAME|"
	}
	return forms + "script:FILE"
}

// Register adds the flags to the root command, for it and all below it.
func (g *Flags) Register(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&g.Cwd, "cwd", "", "`directory` that the tools work in (default: the current one)")
	f.StringSliceVar(&g.IncludeDirs, "include-directories", nil, "more `directories` that the tools may touch")
	f.StringVar(&g.settingsFile, "settings", "", "a `file` of settings that goes before all others, flags excepted")
	mode := NewChoice(&g.ApprovalMode, "default", "auto_edit", "autoEdit", "yolo", "plan")
	mode.given = &g.modeSet
	f.Var(mode, "approval-mode", "what is done without asking: default|auto_edit|yolo|plan")
	f.StringVarP(&g.Model, ModelFlag, "m", "", "the `model` to talk to: "+modelForms()+", or a NAME that tells its provider")
	f.Var(&nameList{names: &g.CoreTools, given: &g.CoreToolsSet}, "core-tools", "exactly these built-in `tools`, instead of the default set")
	f.Var(&nameList{names: &g.allowedTools}, "allowed-tools", "`tools` that are allowed without asking; of the shell commands: run_shell_command(git status,git log)")
	f.Var(&nameList{names: &g.excludeTools}, "exclude-tools", "`tools` that are left out; wins over the other lists")
	f.VarP(&nameList{names: &g.extensions, given: &g.extensionsOn}, extensionsFlag, "e", "the only `extensions` that this session has, enabled or not; none: no extension")
	f.StringArrayVar(&g.PolicyPaths, "policy", nil, "`files` and directories of rules, in place of your own in the settings directory")
	f.BoolVar(&g.skipTrust, "skip-trust", false, "treat a directory that is neither trusted nor untrusted as trusted, this once")
	f.Var(NewChoice(&g.Layout, "fettle", "gemini"), "layout", "names of files, variables and tools: fettle|gemini")
	f.BoolFunc("no-file-read-cache", "remember no reads: no placeholders, no prior-read checks; hashes still hold", func(text string) error {
		off, err := strconv.ParseBool(text)
		g.noReadCache = &off
		return err
	})
	f.Func("max-result-bytes", "how many `bytes` of text one result may have (default: 262144; in mcp serve, what the client passes on)", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxResultBytes {
			return fmt.Errorf("must be a number from 1 to %d", maxResultBytes)
		}
		g.maxResult = n
		return nil
	})
	f.BoolVar(&g.Debug, "debug", false, "log to stderr what happens inside")
	f.StringVar(&g.DebugFile, "debug-file", "", "append that log to a `file` instead")

	for _, name := range []string{"approval-mode", "layout"} {
		values := f.Lookup(name).Value.(*choice).values
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
	_ = root.MarkPersistentFlagDirname("cwd")
}

// choice is a flag with a fixed set of values. The first is the default.
type choice struct {
	value  *string
	values []string
	given  *bool // may be nil
}

// NewChoice returns a flag that sets value, now to the first of values.
func NewChoice(value *string, values ...string) *choice {
	*value = values[0]
	return &choice{value: value, values: values}
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c *choice) Set(s string) error {
	if !slices.Contains(c.values, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.values, ", "))
	}
	*c.value = s
	if c.given != nil {
		*c.given = true
	}
	return nil
}

func (c *choice) Type() string { return "name" }

// nameList is a flag of names, separated by commas or given several times. A
// comma inside brackets belongs to the name: run_shell_command(git log,git diff).
type nameList struct {
	names *[]string
	given *bool // may be nil
}

func (l *nameList) String() string {
	if l.names == nil {
		return ""
	}
	return strings.Join(*l.names, ",")
}

func (l *nameList) Set(s string) error {
	depth, start := 0, 0
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" {
			*l.names = append(*l.names, name)
		}
	}
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			add(s[start:i])
			start = i + 1
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return fmt.Errorf("its brackets do not match")
	}
	add(s[start:])
	if l.given != nil {
		*l.given = true
	}
	return nil
}

func (l *nameList) Type() string { return "names" }

// extensionsFlag is the flag of the extensions that a session has.
const extensionsFlag = "extensions"

// WithoutShorthand gives a command, whose own flag has the shorthand e, the flag of
// the extensions by its name alone.
func (g *Flags) WithoutShorthand(f *pflag.FlagSet) {
	f.Var(&nameList{names: &g.extensions, given: &g.extensionsOn}, extensionsFlag, "as for other commands")
	f.Lookup(extensionsFlag).Hidden = true
}
