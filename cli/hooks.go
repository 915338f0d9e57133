package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
)

// hookListing is a hook in JSON.
type hookListing struct {
	Event       hooks.Event      `json:"event"`
	Matcher     string           `json:"matcher,omitempty"`
	Sequential  bool             `json:"sequential,omitempty"`
	Name        string           `json:"name,omitempty"`
	Command     string           `json:"command"`
	Description string           `json:"description,omitempty"`
	Timeout     int64            `json:"timeout"` // milliseconds
	Source      hooks.Source     `json:"source"`
	Path        string           `json:"path,omitempty"`
	Line        int              `json:"line,omitempty"`
	Extension   string           `json:"extension,omitempty"`
	State       config.HookState `json:"state"`
	Note        string           `json:"note,omitempty"`
	Files       []string         `json:"files,omitempty"` // of the project, that an approval covers
	Open        bool             `json:"open,omitempty"`  // the command may run others, too
}

func hookListingOf(h config.HookListing) hookListing {
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = hooks.DefaultTimeout
	}
	l := hookListing{
		Event: h.Event, Matcher: h.Matcher, Sequential: h.Sequential, Name: h.Name, Command: h.Shown, Description: h.Description,
		Timeout: timeout.Milliseconds(), Source: h.Source, Path: h.Path, Line: h.Line, Extension: h.Extension, State: h.State, Note: h.Note,
	}
	if h.Vouched != nil {
		l.Files, l.Open = h.Vouched.Files, h.Vouched.Open
	}
	return l
}

// vouched says what an approval of a project's hook covers beside its definition,
// "" of a hook that is none.
func (l hookListing) vouched() string {
	const most = 10
	if l.Source != hooks.SourceProject || l.Files == nil {
		return ""
	}
	files := "no file of the project"
	if n := len(l.Files); n > most {
		files = fmt.Sprintf("%s and %d more", strings.Join(l.Files[:most], ", "), n-most)
	} else if n > 0 {
		files = strings.Join(l.Files, ", ")
	}
	if l.Open {
		return files + "; not all that it runs can be vouched for"
	}
	return files
}

// tellVouched tells what approvals of the project's hooks cover.
func (p *program) tellVouched(ctx context.Context, c *config.Config) {
	all, err := c.Hooks(ctx)
	if err != nil { // the session is closed
		return
	}
	for _, h := range all {
		l := hookListingOf(h)
		switch text := l.vouched(); {
		case text != "":
			p.say(oneLine(fmt.Sprintf("%s %s vouches for %s.", l.Event, escape.Clip(cmp.Or(l.Name, l.Command), listingWidth), text)))
		case l.Source == hooks.SourceProject:
			p.say(h.Note)
		}
	}
}

func (p *program) hooksCommand(g *globalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List, try, approve and disable the programs that run at a session's events",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(p.hooksListCommand(g), p.hooksTestCommand(g), p.hooksTrustCommand(g), p.hooksSwitchCommand(g, true), p.hooksSwitchCommand(g, false))
	return cmd
}

// withHooks hands over a session, and tells what is wrong with definitions.
func (p *program) withHooks(ctx context.Context, g *globalFlags, use func(*config.Config) error) error {
	return p.withSession(ctx, sessionOptions{flags: g}, func(s session) error {
		p.tellHookProblems(s)
		return use(s.Config())
	})
}

func (p *program) hooksListCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the hooks in the order in which they run, and which do not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withHooks(cmd.Context(), g, func(c *config.Config) error { return p.listHooks(cmd.Context(), c, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) listHooks(ctx context.Context, c *config.Config, asJSON bool) error {
	all, err := c.Hooks(ctx)
	if err != nil {
		return err
	}
	list := make([]hookListing, len(all))
	for i, h := range all {
		list[i] = hookListingOf(h)
	}
	if set, err := c.Settings(); err == nil && !set.HooksConfig.Enabled {
		p.say("No hook runs, as hooksConfig.enabled is false. fettle config show hooksConfig.enabled --origin tells where.")
	}
	if asJSON {
		return printJSON(p.out, list)
	}
	var b strings.Builder
	for _, l := range list {
		matcher := ""
		if l.Matcher != "" {
			matcher = " (" + l.Matcher + ")"
		}
		place := string(l.Source)
		if l.Extension != "" {
			place += " " + l.Extension
		}
		if l.Path != "" {
			place = fmt.Sprintf("%s, %s:%d", place, l.Path, l.Line)
		}
		fmt.Fprintf(&b, "%-9s  %s%s: %s\n           from %s\n", l.State, l.Event, oneLine(matcher), escape.Clip(oneLine(cmp.Or(l.Name, l.Command)), listingWidth), oneLine(place))
		if l.State == config.HookUnmatched {
			fmt.Fprintf(&b, "           %s\n", oneLine(l.Note))
		}
		if text := l.vouched(); text != "" {
			fmt.Fprintf(&b, "           vouched for: %s\n", oneLine(text))
		}
	}
	_, err = io.WriteString(p.out, b.String())
	return err
}

func (p *program) hooksTrustCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Approve of the project's hooks as they are now",
		Long: `Records the hooks of the project, with the files of the project that their
commands run, as ones that you have looked at. They run where the folder is
trusted, until one of them changes. Which files those are is told, and where a
command may run others, too.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withHooks(cmd.Context(), g, func(c *config.Config) error {
				names, err := c.ApproveHooks(cmd.Context())
				if err != nil {
					return configFailure(err)
				}
				if !c.TrustedFolder() {
					p.complain(fault.New(fault.UntrustedFolder, "cli.hooks", "They do not run, as the folder is not trusted.", "Run fettle trust."))
				}
				p.tellVouched(cmd.Context(), c)
				if asJSON {
					return printJSON(p.out, map[string]any{"approved": append([]string{}, names...)})
				}
				said := "The project has no hooks."
				if len(names) > 0 {
					said = "Approved: " + strings.Join(names, ", ") + "."
				}
				_, err = fmt.Fprintln(p.out, oneLine(said))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// hooksSwitchCommand is enable or disable.
func (p *program) hooksSwitchCommand(g *globalFlags, enable bool) *cobra.Command {
	var asJSON bool
	use, short := "disable NAME", "Keep a hook from running, by its name or command"
	if enable {
		use, short = "enable NAME", "Let a hook run again that you have disabled"
	}
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return usageError("Name one hook.", "fettle hooks list lists them.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.switchHook(cmd.Context(), g, args[0], enable, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// switchHook puts a hook into the user's list of those that do not run, or takes
// it out.
func (p *program) switchHook(ctx context.Context, g *globalFlags, name string, enable, asJSON bool) error {
	const key = "hooksConfig.disabled"
	var known bool
	var mine []string
	err := p.withHooks(ctx, g, func(c *config.Config) error {
		all, err := c.Hooks(ctx)
		if err != nil {
			return err
		}
		known = slices.ContainsFunc(all, func(h config.HookListing) bool { return h.Is(name) })
		origins, err := c.SettingOrigins(key)
		for _, o := range origins {
			list, _ := o.Value.([]any)
			for _, entry := range list {
				text, _ := entry.(string)
				switch {
				case o.Layer == settings.LayerUser:
					mine = append(mine, text)
				case enable && text == name && o.Layer != settings.LayerDefault:
					p.complain(fault.New(fault.InvalidConfig, "cli.hooks", fmt.Sprintf("%q is disabled in %s as well, and stays so.", name, o.Source), ""))
				}
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if !known && !slices.Contains(mine, name) {
		return fault.New(fault.InvalidToolParams, "cli.hooks", fmt.Sprintf("There is no hook %q.", name), "fettle hooks list lists them.")
	}
	mine = slices.DeleteFunc(mine, func(entry string) bool { return entry == name })
	if !enable {
		mine = append(mine, name)
	}
	var value any
	if list := make([]any, len(mine)); len(mine) > 0 {
		for i, entry := range mine {
			list[i] = entry
		}
		value = list
	}
	return p.setConfig(ctx, g, settings.LayerUser, key, value, asJSON)
}

// hookTrial is what hooks test prints as JSON.
type hookTrial struct {
	Event hooks.Event     `json:"event"`
	Hooks []hookTrialOf   `json:"hooks"`
	Want  hookTrialEffect `json:"effect"`
}

type hookTrialOf struct {
	Hook     string       `json:"hook"`
	Place    string       `json:"place,omitempty"`
	Exit     int          `json:"exit"`
	Signal   string       `json:"signal,omitempty"`
	TimedOut bool         `json:"timedOut,omitempty"`
	Took     int64        `json:"duration"` // milliseconds
	Stdout   string       `json:"stdout,omitempty"`
	Stderr   string       `json:"stderr,omitempty"`
	Output   hooks.Output `json:"output"`
	Warnings []string     `json:"warnings,omitempty"`
}

type hookTrialEffect struct {
	Stop       bool            `json:"stop,omitempty"`
	StopReason string          `json:"stopReason,omitempty"`
	Decision   hooks.Decision  `json:"decision,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	By         string          `json:"by,omitempty"`
	Messages   []string        `json:"systemMessages,omitempty"`
	Context    string          `json:"additionalContext,omitempty"`
	Specific   *hooks.Specific `json:"hookSpecificOutput,omitempty"`
}

// errNoEvent is what a missing or unknown event is answered with.
func errNoEvent(given string) error {
	names := make([]string, 0, len(hooks.Events()))
	for _, e := range hooks.Events() {
		names = append(names, string(e))
	}
	if given == "" {
		return usageError("Name one event.", "It is one of "+strings.Join(names, ", ")+".")
	}
	return usageError(fmt.Sprintf("There is no event %q.", given), "It is one of "+strings.Join(names, ", ")+".")
}
