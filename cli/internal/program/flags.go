package program

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// ModelFlag is the flag that selects the model.
const ModelFlag = "model"

// maxResultBytes is the highest value of --max-result-bytes.
const maxResultBytes = 1_000_000_000

// Flags are the command-line flags of every command.
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
	noReadCache  *bool // nil: not set
	maxResult    int   // bytes; 0: not set
	staleEdits   string
	EditDialect  []string
	staleSet     bool
	sandboxed    bool
	servers      []string
	serversSet   bool
	Debug        bool
	DebugFile    string
	PolicyPaths  []string
	skipTrust    bool
	extensions   []string
	extensionsOn bool        // --extensions was given
	trustOnce    trust.State // of the target directory in this run, if nothing is recorded
}

// Register adds the flags to the root command as persistent flags.
func (g *Flags) Register(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&g.Cwd, "cwd", "", "working `directory` of the tools (default: the current directory)")
	f.StringSliceVar(&g.IncludeDirs, "include-directories", nil, "additional `directories` that the tools may access")
	f.StringVar(&g.settingsFile, "settings", "", "settings `file` that takes precedence over all settings except flags")
	var spellings, names []string
	for _, m := range policy.Modes() {
		names = append(names, m.Flag())
		if spellings = append(spellings, m.Flag()); m.Flag() != m.String() {
			spellings = append(spellings, m.String())
		}
	}
	mode := NewChoice(&g.ApprovalMode, spellings...)
	g.ApprovalMode, mode.given = policy.ModeDefault.Flag(), &g.modeSet
	f.Var(mode, "approval-mode", "tool calls that run without approval: "+strings.Join(names, "|"))
	f.StringVarP(&g.Model, ModelFlag, "m", "", "`model` to use: PROVIDER:NAME of fettle models, a NAME that implies its provider, or script:FILE")
	f.Var(&nameList{names: &g.CoreTools, given: &g.CoreToolsSet}, "core-tools", "enable exactly these built-in `tools` instead of the default set")
	f.Var(&nameList{names: &g.allowedTools}, "allowed-tools", "`tools` allowed without approval; for shell commands: run_shell_command(git status,git log)")
	f.Var(&nameList{names: &g.excludeTools}, "exclude-tools", "`tools` to exclude; takes precedence over the other lists")
	f.VarP(&nameList{names: &g.extensions, given: &g.extensionsOn}, extensionsFlag, "e", "load only these `extensions`, enabled or not; none: no extension")
	f.StringArrayVar(&g.PolicyPaths, "policy", nil, "policy `files` and directories, instead of those in the user settings directory")
	f.BoolVar(&g.skipTrust, "skip-trust", false, "treat an undecided directory as trusted for this run")
	f.Var(NewChoice(&g.Layout, "fettle", "gemini"), "layout", "names of files, variables and tools: fettle|gemini")
	f.BoolFunc("no-file-read-cache", "disable the file read cache: no placeholders and no prior-read checks; hashes are still checked", func(text string) error {
		off, err := strconv.ParseBool(text)
		g.noReadCache = &off
		return err
	})
	f.Func("max-result-bytes", "maximum `bytes` of text in a result (default: 262144; mcp serve: the limit of the client)", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxResultBytes {
			return fmt.Errorf("must be a number from 1 to %d", maxResultBytes)
		}
		g.maxResult = n
		return nil
	})
	stale := NewChoice(&g.staleEdits, "refuse", "rebase")
	stale.given = &g.staleSet
	f.Var(stale, "stale-edits", "patches of files that another writer has changed, if they carry over: refuse, and offer a retry, or rebase: refuse|rebase")
	dialects := append([]string{file.AutoDialect}, file.EditDialects()...)
	f.Func("edit-dialect", "`tools` that change parts of files: auto, by the model, or some of "+strings.Join(dialects[1:], ", ")+" (default: safe_patch)", func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); !slices.Contains(dialects, name) {
				return fmt.Errorf("must be auto, or some of %s", strings.Join(dialects[1:], ", "))
			}
			g.EditDialect = append(g.EditDialect, name)
		}
		if len(g.EditDialect) > 1 && slices.Contains(g.EditDialect, file.AutoDialect) {
			return errors.New("auto does not go with names of tools")
		}
		return nil
	})
	f.BoolFuncP("yolo", "y", "run all tool calls without approval, as --approval-mode yolo", func(text string) error {
		on, err := strconv.ParseBool(text)
		if on {
			g.ApprovalMode, g.modeSet = policy.ModeYolo.Flag(), true
		}
		return err
	})
	root.Flags().BoolVarP(&g.sandboxed, "sandbox", "s", false, "confine every command, as tools.sandbox.enabled")
	f.Var(&nameList{names: &g.servers, given: &g.serversSet}, "allowed-mcp-server-names", "connect only these MCP `servers`; none: no server")
	f.BoolVarP(&g.Debug, "debug", "d", false, "log internal events to stderr")
	f.StringVar(&g.DebugFile, "debug-file", "", "append the debug log to a `file` instead")

	for _, name := range []string{"approval-mode", "layout", "stale-edits"} {
		values := f.Lookup(name).Value.(*choice).values
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
	_ = root.MarkPersistentFlagDirname("cwd")
}

// TrustOnce sets the trust in the target directory for this run. It applies only if nothing
// is recorded.
func (g *Flags) TrustOnce(state trust.State) { g.trustOnce = state }

// SetMode sets the approval mode for the sessions that are opened next.
func (g *Flags) SetMode(mode policy.ApprovalMode) { g.ApprovalMode, g.modeSet = mode.Flag(), true }

// once returns the trust in the target directory for this run, by --skip-trust or by an
// answer of the user.
func (g *Flags) once() trust.State {
	if g.skipTrust {
		return trust.Trusted
	}
	return g.trustOnce
}

// Check rejects flags that exclude each other.
func (*Flags) Check(given *pflag.FlagSet) error {
	if given.Changed("yolo") && given.Changed("approval-mode") {
		return UsageError("--yolo and --approval-mode exclude each other.", "Give one of them.")
	}
	return nil
}

// choice is a flag with a fixed set of values. The first is the default.
type choice struct {
	value  *string
	values []string
	given  *bool // may be nil
}

// NewChoice returns a flag that sets *value and sets it to the first of values now.
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

// nameList is a flag for a list of names, comma-separated or repeated. A comma inside
// parentheses belongs to the name: run_shell_command(git log,git diff).
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
		return fmt.Errorf("unbalanced parentheses")
	}
	add(s[start:])
	if l.given != nil {
		*l.given = true
	}
	return nil
}

func (l *nameList) Type() string { return "names" }

// extensionsFlag is the flag that selects the extensions of a session.
const extensionsFlag = "extensions"

// WithoutShorthand redefines --extensions without its shorthand for a command whose
// own flag uses -e.
func (g *Flags) WithoutShorthand(f *pflag.FlagSet) {
	f.Var(&nameList{names: &g.extensions, given: &g.extensionsOn}, extensionsFlag, "see fettle --help")
	f.Lookup(extensionsFlag).Hidden = true
}
