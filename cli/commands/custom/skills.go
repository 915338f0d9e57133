package custom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/standard"
)

// skillListing is a skill in JSON.
type skillListing struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Scope       skills.Scope   `json:"scope"`
	Extension   string         `json:"extension,omitempty"`
	Path        string         `json:"path,omitempty"` // absent: it is built in
	Enabled     bool           `json:"enabled"`
	Hash        string         `json:"hash,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
	Body        string         `json:"body,omitempty"`
	Files       string         `json:"files,omitempty"` // the tree of its directory
}

func skillListingOf(s skills.Skill) skillListing {
	return skillListing{Name: s.Name, Description: s.Description, Scope: s.Scope, Extension: s.Extension, Path: s.Path, Enabled: !s.Disabled}
}

// SkillsCommand is fettle skills.
func SkillsCommand(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List and show the skills that a model may activate, enable and disable them",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(skillsListCommand(p, g), skillsShowCommand(p, g), skillsEnableCommand(p, g), skillsDisableCommand(p, g))
	return cmd
}

func skillsListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the skills, and what is wrong with their files",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSkills(cmd.Context(), p, g, func(m *skills.SkillManager) error {
				list := []skillListing{}
				for _, s := range m.All() {
					if all || !s.Disabled {
						list = append(list, skillListingOf(s))
					}
				}
				if asJSON {
					return program.PrintJSON(p.Out, list)
				}
				return listSkills(p, list)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list disabled ones too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listSkills prints skills for people, one a line.
func listSkills(p *program.Program, list []skillListing) error {
	name, scope := 0, 0
	for _, l := range list {
		name, scope = max(name, len(display.Line(l.Name))), max(scope, len(l.from()))
	}
	var b strings.Builder
	for _, l := range list {
		off := ""
		if !l.Enabled {
			off = "(disabled) "
		}
		fmt.Fprintf(&b, "%-*s  %-*s  %s%s\n", name, display.Line(l.Name), scope, l.from(), off, escape.Clip(display.FirstSentence(display.Line(l.Description)), display.ListingWidth))
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// from says whose skill it is.
func (l skillListing) from() string {
	if l.Extension != "" {
		return "extension " + display.Line(l.Extension)
	}
	return string(l.Scope)
}

func skillsShowCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print all that is known of a skill, its instructions too",
		Args:  program.ExactlyOne("Name one skill to show.", "fettle skills list --all lists them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkills(cmd.Context(), p, g, func(m *skills.SkillManager) error {
				s, ok := m.Get(args[0])
				if !ok {
					return noSkill(args[0])
				}
				l := skillListingOf(s)
				l.Hash, l.Extra, l.Body = s.Hash, s.Extra, s.Body
				var err error
				if l.Files, err = skills.Tree(cmd.Context(), s); err != nil {
					return err
				}
				if asJSON {
					return program.PrintJSON(p.Out, l)
				}
				return showSkill(p, l)
			})
		},
		ValidArgsFunction: completeSkills(p, g),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func noSkill(name string) *fault.Error {
	return fault.New(fault.InvalidToolParams, "cli.skills", fmt.Sprintf("There is no skill %q.", name), "fettle skills list --all lists them.")
}

// completeSkills completes the names of skills.
func completeSkills(p *program.Program, g *program.Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			_ = withSkills(cmd.Context(), p, g, func(m *skills.SkillManager) error { // none, no suggestions
				for _, s := range m.All() {
					names = append(names, cobra.CompletionWithDesc(s.Name, display.FirstSentence(s.Description)))
				}
				return nil
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// withSkills hands the skills of the session to use, and tells what is wrong with
// their files.
func withSkills(ctx context.Context, p *program.Program, g *program.Flags, use func(*skills.SkillManager) error) error {
	o := program.SessionOptions{Flags: g, Adjust: func(p *config.Parameters) { *p = standard.Parameters(*p) }}
	return p.WithSession(ctx, o, func(s program.Session) error {
		m, err := s.Config().Skills()
		if err != nil {
			return err
		}
		for _, problem := range m.Problems() {
			p.Complain(errors.New(problem.String()))
		}
		if notice := untrustedSkills(s.Config()); notice != nil {
			p.Complain(notice)
		}
		return use(m)
	})
}

// untrustedSkills tells of the project's skills where they are left out because
// its directory is not trusted; nil: there are none, or they are there.
func untrustedSkills(c *config.Config) *fault.Error {
	if c.TrustedFolder() {
		return nil
	}
	for _, dir := range []string{c.Layout().Dir, ".agents"} {
		path := filepath.Join(c.TargetDir(), dir, "skills")
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) == 0 || isHomes(path, dir) {
			continue
		}
		return fault.New(fault.UntrustedFolder, "cli.skills", "The skills in "+path+" are left out, as the directory of the project is not trusted.",
			"Look at them, then run fettle trust.")
	}
	return nil
}

// isHomes reports whether a directory of skills or agents is the user's own, in dir
// of the home directory, as where the project is that directory.
func isHomes(path, dir string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	users, err := os.Stat(filepath.Join(home, dir, filepath.Base(path)))
	if err != nil {
		return false
	}
	projects, err := os.Stat(path)
	return err == nil && os.SameFile(users, projects)
}

// showSkill prints a skill for people.
func showSkill(p *program.Program, l skillListing) error {
	var b strings.Builder
	b.WriteString(display.Paint(display.StyleBold, display.Line(l.Name), display.WantsColour(p.Out)) + "\n")
	fact := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-8s  %s\n", name+":", display.Line(text))
		}
	}
	fact("from", l.from())
	fact("file", l.Path)
	state := "enabled"
	if !l.Enabled {
		state = "disabled"
	}
	fact("state", state)
	fact("sha256", l.Hash)
	columns := display.ProseColumns(p.Out, math.MaxInt)
	b.WriteString("\n" + display.Wrap(display.Printable(strings.TrimSpace(l.Description)), "", columns))
	if l.Files != "" {
		b.WriteString("\nIts directory:\n" + display.Printable(l.Files))
	}
	if l.Body != "" {
		b.WriteString("\nIts instructions:\n" + display.Printable(l.Body) + "\n")
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}
