package extensions

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// maxSettingValue is the maximum length of a value on stdin, in bytes.
const maxSettingValue = 64 << 10

// settingState is the JSON output for a setting of an extension, without secrets.
type settingState struct {
	extensions.Setting
	Set   bool             `json:"set"`
	Value string           `json:"value,omitempty"` // *** if it is sensitive
	Scope extensions.Scope `json:"scope,omitempty"`
}

func extensionsConfigCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON, unset bool
	scope := ""
	cmd := &cobra.Command{
		Use:   "config NAME [SETTING [VALUE]]",
		Short: "Show the settings of an extension, or set one",
		Long: `Without SETTING it prints the settings of an extension. With SETTING, a name or a
variable, it sets the value: VALUE, or a line of stdin or of the terminal. The value
of a sensitive setting is not accepted on the command line, where other users could
see it, and is never printed; it is stored in a file that only you can read.

With --scope workspace the value applies in the target directory, if it is trusted,
and takes precedence over your user value.`,
		Example: `  fettle extensions config shelf SHELF_ROOM 'blue room'
  pass show shelf | fettle extensions config shelf SHELF_KEY`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 3 || unset && len(args) != 2 {
				return program.UsageError("An extension name is required, and at most a setting and its value.", "Example: fettle extensions config shelf SHELF_ROOM 'blue room'.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				e, err := findExtension(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				if len(args) == 1 {
					return showExtensionSettings(p, e, asJSON)
				}
				return setExtensionSetting(cmd.Context(), p, store, e, args[1:], extensions.Scope(scope), unset, asJSON)
			})
		},
		ValidArgsFunction: completeExtensions(p, g, false),
	}
	cmd.Flags().Var(program.NewChoice(&scope, string(extensions.ScopeUser), string(extensions.ScopeWorkspace)), "scope", "scope: user|workspace")
	cmd.Flags().BoolVar(&unset, "unset", false, "remove the value")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func stateOfSetting(e extensions.Extension, s extensions.Setting) settingState {
	for _, r := range e.ResolvedSettings {
		if r.EnvVar == s.EnvVar {
			return settingState{s, true, r.Value.String(), r.Scope}
		}
	}
	return settingState{Setting: s}
}

func showExtensionSettings(p *program.Program, e extensions.Extension, asJSON bool) error {
	list := []settingState{}
	var b strings.Builder
	for _, s := range e.Settings {
		list = append(list, stateOfSetting(e, s))
		fmt.Fprintf(&b, "%s (%s) %s\n", display.Line(s.EnvVar), display.Line(s.Name), display.Line(valueIn(e, s)))
	}
	if asJSON {
		return program.PrintJSON(p.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintf(&b, "%s has no settings.\n", display.Line(e.Name))
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// setExtensionSetting sets or removes the value of a setting.
func setExtensionSetting(ctx context.Context, p *program.Program, store *extensionstore.Store, e extensions.Extension, args []string, scope extensions.Scope, unset, asJSON bool) error {
	at := slices.IndexFunc(e.Settings, func(s extensions.Setting) bool { return s.EnvVar == args[0] })
	if at < 0 {
		at = slices.IndexFunc(e.Settings, func(s extensions.Setting) bool { return strings.EqualFold(s.Name, args[0]) })
	}
	if at < 0 {
		return program.UsageError(fmt.Sprintf("The extension %s has no setting %q.", e.Name, args[0]), "fettle extensions config "+e.Name+" lists its settings.")
	}
	s := e.Settings[at]
	did := "is set"
	if unset {
		did = "is removed"
		if err := store.UnsetSetting(ctx, e, s.EnvVar, scope); err != nil {
			return err
		}
	} else {
		value, err := settingValue(ctx, p, s, args[1:])
		if err != nil {
			return err
		}
		if err := store.SetSetting(ctx, e, s.EnvVar, value, scope); err != nil {
			return err
		}
	}
	now, err := findExtension(ctx, store, e.Name)
	if err != nil {
		return err
	}
	if asJSON {
		return program.PrintJSON(p.Out, stateOfSetting(now, s))
	}
	where := "for you"
	if scope == extensions.ScopeWorkspace {
		where = "for this directory"
		if state := stateOfSetting(now, s); !unset && state.Scope != scope {
			p.PrintError(fault.New(fault.UntrustedFolder, "cli.extensions", "The value has no effect because this directory is not trusted.", "Run fettle trust, or omit --scope."))
		}
	}
	_, err = fmt.Fprintf(p.Out, "%s of %s %s %s.\n", display.Line(s.EnvVar), display.Line(e.Name), did, where)
	return err
}

// settingValue returns the value from the command line, otherwise from stdin or the
// terminal.
func settingValue(ctx context.Context, p *program.Program, s extensions.Setting, args []string) (string, error) {
	if len(args) == 1 {
		if s.Sensitive {
			return "", program.UsageError(fmt.Sprintf("The value of %s is sensitive, and other users can see a command line.", s.EnvVar),
				"Omit it, and type it at the terminal or give it on stdin.")
		}
		return args[0], nil
	}
	value := ""
	if display.IsTerminal(p.In) {
		user, done := newInstaller(p, false)
		defer done()
		given, ok, err := user.Value(ctx, s)
		if err != nil {
			return "", err
		}
		if ok {
			value = given
		}
	} else {
		text, err := io.ReadAll(io.LimitReader(p.In, maxSettingValue+1))
		switch {
		case ctx.Err() != nil:
			return "", program.Interrupted()
		case err != nil:
			return "", fault.Wrap(fault.ReadContentFailure, "cli.extensions", "Cannot read the value from stdin.", "Give it on one line of stdin.", err)
		case len(text) > maxSettingValue:
			return "", program.UsageError(fmt.Sprintf("The value has more than %d bytes.", maxSettingValue), "Give a shorter one.")
		}
		value = strings.TrimRight(string(text), "\r\n")
	}
	if value == "" {
		return "", program.UsageError(fmt.Sprintf("No value given for %s.", s.EnvVar), "Give it on a line of stdin, or type it at the terminal; --unset removes a value.")
	}
	return value, nil
}
