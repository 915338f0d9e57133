// Package setup implements fettle setup: the key of a model provider and the default model.
package setup

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/firstrun"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// maxKey is the maximum number of bytes of a key.
const maxKey = 16 << 10

// options are the flags of fettle setup.
type options struct {
	provider, remove string
	variables        []string
	keyStdin         bool
	noCheck          bool
	noKeyring        bool
	asJSON           bool

	given  string // --model
	chosen bool   // there is a default model
}

// removed is the JSON output of --remove.
type removed struct {
	Provider string `json:"provider"`
	Removed  bool   `json:"removed"` // false: there was no key
}

// Command returns the fettle setup command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Store the key of a model provider, and select the default model",
		Long: `Lists the model providers with their state, asks for one, for its key and for the
default model of new sessions, and checks the key with a request for the provider's
models. Without a terminal, or with --provider, it asks nothing.

The key is stored in the keychain of the system if there is one, otherwise in a file of
mode 0600 in your settings directory. It is never stored in a project and never given on
the command line. A variable of the environment takes precedence over a stored key.`,
		Example: `  fettle setup
  fettle setup --provider groq --key-stdin < key.txt
  fettle setup --provider ollama --model qwen3:8b
  fettle setup --provider azure --set AZURE_OPENAI_ENDPOINT=https://NAME.openai.azure.com --key-stdin < key.txt
  fettle setup --remove groq`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(p); err != nil {
				return err
			}
			var variables config.Variables
			adjust := func(to *config.Parameters) {
				to.Conversation.Providers = func(v config.Variables) model.Source { variables = v; return nil }
			}
			return p.WithSession(cmd.Context(), program.SessionOptions{Flags: g, Adjust: adjust}, func(session program.Session) error {
				s := &firstrun.Setup{Program: p, Flags: g, Variables: variables, NoKeychain: o.noKeyring}
				o.given, o.chosen = g.Model, session.Config().Model() != firstrun.Auto
				return o.run(cmd.Context(), s)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.provider, "provider", "", "`provider` of fettle models to set up, without questions")
	f.BoolVar(&o.keyStdin, "key-stdin", false, "read the key from stdin")
	f.StringArrayVar(&o.variables, "set", nil, "also store a `NAME=VALUE` that is not secret, such as the address of the provider; may be repeated")
	f.BoolVar(&o.noCheck, "no-check", false, "store the key without asking the provider")
	f.BoolVar(&o.noKeyring, "no-keyring", false, "store the key in the file, not in the keychain of the system")
	f.StringVar(&o.remove, "remove", "", "remove what is stored for a `provider`")
	f.BoolVar(&o.asJSON, "json", false, "print JSON; without --provider: the providers and their state")
	for _, name := range []string{"provider", "remove"} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { // the flag exists
			return p.Providers.Names(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	return cmd
}

// check rejects flags that exclude each other, and unknown providers.
func (o *options) check(p *program.Program) error {
	for _, name := range []string{o.provider, o.remove} {
		if name != "" && !slices.Contains(p.Providers.Names(), name) {
			return program.UsageError(fmt.Sprintf("Unknown model provider %q.", name), "Use one of "+strings.Join(p.Providers.Names(), ", ")+".")
		}
	}
	switch {
	case o.remove != "" && (o.provider != "" || o.keyStdin || o.noCheck || o.noKeyring || len(o.variables) > 0):
		return program.UsageError("--remove goes with --json only.", "Omit the other flags.")
	case o.provider == "" && (o.keyStdin || o.noCheck || len(o.variables) > 0):
		return program.UsageError("--key-stdin, --set and --no-check need --provider.", "Name the provider.")
	}
	return nil
}

func (o *options) run(ctx context.Context, s *firstrun.Setup) error {
	switch {
	case o.remove != "":
		return o.forget(ctx, s)
	case o.provider != "":
		return o.set(ctx, s)
	case o.asJSON:
		return program.PrintJSON(s.Out, struct {
			Providers []firstrun.State `json:"providers"`
		}{s.States(ctx)})
	}
	user, done := approval.NewPrompter(s.In, s.Err)
	defer done()
	if !user.IsThere() {
		return program.UsageError("fettle setup asks its questions in a terminal.", "Give --provider, and the key on stdin with --key-stdin; --json lists the providers.")
	}
	_, ok, err := s.Ask(ctx, user, firstrun.Wanted{})
	switch {
	case ctx.Err() != nil:
		return program.Interrupted()
	case err == nil && !ok:
		user.Printf("Nothing was stored.\n")
	}
	return err
}

// set stores the choice of the flags.
func (o *options) set(ctx context.Context, s *firstrun.Setup) error {
	states := s.Providers.List(s.Variables)
	c := firstrun.Choice{Provider: states[slices.IndexFunc(states, func(i program.ProviderInfo) bool { return i.Name == o.provider })], Variables: map[string]string{}}
	if err := o.readVariables(c); err != nil {
		return err
	}
	if err := o.readKey(ctx, s, &c); err != nil {
		return err
	}
	saved := firstrun.Saved{}
	var models []string
	var problems []error
	if !o.noCheck {
		checked := s.Check(ctx, c.Provider, c.Key, c.Variables)
		if saved.Check, models = checked.Result, checked.Models; checked.Err != nil {
			problems = append(problems, checked.Err)
		}
		if ctx.Err() != nil {
			return program.Interrupted()
		}
		if checked.Result == firstrun.Refused || checked.Result == firstrun.Incomplete {
			err := fault.As(checked.Err)
			return &program.ExitError{Code: program.ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli.setup", "Nothing was stored. "+err.Message, err.Remedy, err)}
		}
	}
	c.Model = o.model(c.Provider, models)
	check := saved.Check
	saved, more := s.Save(ctx, c)
	saved.Check = check
	if c.Key != "" && c.Provider.Key.Variable != "" {
		more = append(more, fault.New(fault.InvalidConfig, "cli.setup", "The variable "+c.Provider.Key.Variable+" is set and takes precedence over the stored key.", ""))
	}
	for _, problem := range append(problems, more...) {
		s.PrintError(problem)
	}
	if len(problems) > 0 {
		saved.Problem = s.Masked(fault.Line(problems[0]))
	}
	if !saved.Stored {
		return &program.ExitError{Code: program.ExitConfig}
	}
	if o.asJSON {
		return program.PrintJSON(s.Out, saved)
	}
	firstrun.Report(func(format string, args ...any) { fmt.Fprintf(s.Out, format, args...) }, saved, nil)
	return nil
}

// readVariables sets the variables of --set.
func (o *options) readVariables(c firstrun.Choice) error {
	known := append([]string{c.Provider.Address}, c.Provider.Others...)
	for _, text := range o.variables {
		name, value, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(known, name) || value == "" || strings.ContainsAny(value, "\r\n\x00") {
			return program.UsageError("--set takes NAME=VALUE with one of "+strings.Join(known, ", ")+".", "A key is read with --key-stdin.")
		}
		c.Variables[name] = value
	}
	return nil
}

// readKey reads the key from stdin. A provider that needs one and has none is an error.
func (o *options) readKey(ctx context.Context, s *firstrun.Setup, c *firstrun.Choice) error {
	if !o.keyStdin {
		if none := c.Provider.Key == (program.KeyOrigin{}); none && !c.Provider.Ready && len(c.Provider.Keys) > 0 {
			return program.UsageError("There is no key for "+c.Provider.Name+".", "Give it on stdin with --key-stdin, or run fettle setup in a terminal.")
		}
		return nil
	}
	if len(c.Provider.Keys) == 0 {
		return program.UsageError(c.Provider.Name+" has no key.", "Omit --key-stdin.")
	}
	text, err := program.AwaitRead(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(s.In, maxKey+1)) })
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	c.Key = strings.TrimSpace(string(text))
	if c.Key == "" || len(text) > maxKey || strings.ContainsAny(c.Key, " \t\r\n\x00") {
		c.Key = ""
		return program.UsageError("stdin has no key: a key is one word.", "Write the key alone to stdin.")
	}
	s.Masks(c.Key)
	return nil
}

// model returns the default model to store: that of --model, or if the user has none yet,
// that of the provider.
func (o *options) model(info program.ProviderInfo, listed []string) string {
	if name := strings.TrimPrefix(o.given, info.Name+":"); name != "" {
		return info.Name + ":" + name
	}
	switch {
	case o.chosen:
	case info.Default != "" && (len(listed) == 0 || slices.Contains(listed, info.Default)):
		return info.Name + ":" + info.Default
	case len(listed) == 1:
		return info.Name + ":" + listed[0]
	}
	return ""
}

// forget removes what is stored for a provider.
func (o *options) forget(ctx context.Context, s *firstrun.Setup) error {
	found, err := s.Keys.Remove(ctx, o.remove)
	if err != nil {
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	if o.asJSON {
		return program.PrintJSON(s.Out, removed{o.remove, found})
	}
	text := "Nothing was stored for %s.\n"
	if found {
		text = "What was stored for %s is removed.\n"
	}
	_, err = fmt.Fprintf(s.Out, text, display.Line(o.remove))
	return err
}
