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
)

// skillListing is the JSON output for a skill.
type skillListing struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Scope       skills.Scope   `json:"scope"`
	Extension   string         `json:"extension,omitempty"`
	Path        string         `json:"path,omitempty"` // absent: built in
	Enabled     bool           `json:"enabled"`
	Hash        string         `json:"hash,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
	Body        string         `json:"body,omitempty"`
	Files       string         `json:"files,omitempty"` // the tree of its directory
}

func skillListingOf(s skills.Skill) skillListing {
	return skillListing{Name: s.Name, Description: s.Description, Scope: s.Scope, Extension: s.Extension, Path: s.Path, Enabled: !s.Disabled}
}

// SkillsCommand returns the fettle skills command.
func SkillsCommand(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List, show, install, enable and disable the skills that a model may activate",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(skillsListCommand(p, g), skillsShowCommand(p, g), skillsEnableCommand(p, g), skillsDisableCommand(p, g),
		skillsInstallCommand(p, g), skillsLinkCommand(p, g), skillsUninstallCommand(p, g))
	return cmd
}

func skillsListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the skills and the problems in their files",
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
	cmd.Flags().BoolVar(&all, "all", false, "include disabled skills")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listSkills prints skills as text, one per line.
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

// from returns the origin of a skill.
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
		Short: "Show a skill with its instructions",
		Args:  program.ExactlyOne("Exactly one skill name is required.", "fettle skills list --all lists them."),
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
	return fault.New(fault.InvalidToolParams, "cli.skills", fmt.Sprintf("Unknown skill %q.", name), "fettle skills list --all lists them.")
}

// completeSkills completes the names of skills.
func completeSkills(p *program.Program, g *program.Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			_ = withSkills(cmd.Context(), p, g, func(m *skills.SkillManager) error { // no skills, no suggestions
				for _, s := range m.All() {
					names = append(names, cobra.CompletionWithDesc(s.Name, display.FirstSentence(s.Description)))
				}
				return nil
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// withSkills calls use with the skills of the session, and reports problems in their
// files.
func withSkills(ctx context.Context, p *program.Program, g *program.Flags, use func(*skills.SkillManager) error) error {
	o := program.SessionOptions{Flags: g, Adjust: func(to *config.Parameters) { *to = p.Providers.Parameters(*to) }}
	return p.WithSession(ctx, o, func(s program.Session) error {
		m, err := s.Config().Skills().Manager()
		if err != nil {
			return err
		}
		for _, problem := range m.Problems() {
			p.PrintError(errors.New(problem.String()))
		}
		if notice := untrustedSkills(s.Config()); notice != nil {
			p.PrintError(notice)
		}
		return use(m)
	})
}

// untrustedSkills returns a notice if the skills of the project are ignored because
// its directory is not trusted, otherwise nil.
func untrustedSkills(c *config.Config) *fault.Error {
	if c.Trust().IsTrusted() {
		return nil
	}
	for _, dir := range []string{c.Layout().Dir, ".agents"} {
		path := filepath.Join(c.TargetDir(), dir, "skills")
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) == 0 || isHomes(path, dir) {
			continue
		}
		return fault.New(fault.UntrustedFolder, "cli.skills", "The skills in "+path+" are ignored because the directory of the project is not trusted.",
			"Review them, then run fettle trust.")
	}
	return nil
}

// isHomes reports whether a directory of skills or agents is the user's own, in dir of
// the home directory. This is the case if the project is the home directory.
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

// showSkill prints a skill as text.
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
		b.WriteString("\nDirectory:\n" + display.Printable(l.Files))
	}
	if l.Body != "" {
		b.WriteString("\nInstructions:\n" + display.Printable(l.Body) + "\n")
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}
