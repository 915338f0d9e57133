package cli

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
	Files       string         `json:"files,omitempty"` // the tree of its folder
}

func skillListingOf(s skills.Skill) skillListing {
	return skillListing{Name: s.Name, Description: s.Description, Scope: s.Scope, Extension: s.Extension, Path: s.Path, Enabled: !s.Disabled}
}

func (p *program) skillsCommand(g *globalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List and show the skills that a model may activate, enable and disable them",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(p.skillsListCommand(g), p.skillsShowCommand(g), p.skillsEnableCommand(g), p.skillsDisableCommand(g))
	return cmd
}

func (p *program) skillsListCommand(g *globalFlags) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the skills, and what is wrong with their files",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withSkills(cmd.Context(), g, func(m *skills.SkillManager) error {
				list := []skillListing{}
				for _, s := range m.All() {
					if all || !s.Disabled {
						list = append(list, skillListingOf(s))
					}
				}
				if asJSON {
					return printJSON(p.out, list)
				}
				return p.listSkills(list)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list disabled ones too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listSkills prints skills for people, one a line.
func (p *program) listSkills(list []skillListing) error {
	name, scope := 0, 0
	for _, l := range list {
		name, scope = max(name, len(oneLine(l.Name))), max(scope, len(l.from()))
	}
	var b strings.Builder
	for _, l := range list {
		off := ""
		if !l.Enabled {
			off = "(disabled) "
		}
		fmt.Fprintf(&b, "%-*s  %-*s  %s%s\n", name, oneLine(l.Name), scope, l.from(), off, escape.Clip(firstSentence(oneLine(l.Description)), listingWidth))
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// from says whose skill it is.
func (l skillListing) from() string {
	if l.Extension != "" {
		return "extension " + oneLine(l.Extension)
	}
	return string(l.Scope)
}

func (p *program) skillsShowCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print all that is known of a skill, its instructions too",
		Args:  exactlyOne("Name one skill to show.", "fettle skills list --all lists them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSkills(cmd.Context(), g, func(m *skills.SkillManager) error {
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
					return printJSON(p.out, l)
				}
				return p.showSkill(l)
			})
		},
		ValidArgsFunction: p.completeSkills(g),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func noSkill(name string) *fault.Error {
	return fault.New(fault.InvalidToolParams, "cli.skills", fmt.Sprintf("There is no skill %q.", name), "fettle skills list --all lists them.")
}

// completeSkills completes the names of skills.
func (p *program) completeSkills(g *globalFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			_ = p.withSkills(cmd.Context(), g, func(m *skills.SkillManager) error { // none, no suggestions
				for _, s := range m.All() {
					names = append(names, cobra.CompletionWithDesc(s.Name, firstSentence(s.Description)))
				}
				return nil
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// withSkills hands the skills of the session to use, and tells what is wrong with
// their files.
func (p *program) withSkills(ctx context.Context, g *globalFlags, use func(*skills.SkillManager) error) error {
	o := sessionOptions{flags: g, adjust: func(p *config.Parameters) { *p = standard.Parameters(*p) }}
	return p.withSession(ctx, o, func(s session) error {
		m, err := s.Config().Skills()
		if err != nil {
			return err
		}
		for _, problem := range m.Problems() {
			p.complain(errors.New(problem.String()))
		}
		if notice := untrustedSkills(s.Config()); notice != nil {
			p.complain(notice)
		}
		return use(m)
	})
}

// untrustedSkills tells of the project's skills where they are left out because
// its folder is not trusted; nil: there are none, or they are there.
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
		return fault.New(fault.UntrustedFolder, "cli.skills", "The skills in "+path+" are left out, as the folder of the project is not trusted.",
			"Look at them, then run fettle trust.")
	}
	return nil
}

// isHomes reports whether a folder of skills is the one below the home folder.
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
func (p *program) showSkill(l skillListing) error {
	var b strings.Builder
	b.WriteString(paint(styleBold, oneLine(l.Name), wantsColour(p.out)) + "\n")
	fact := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-8s  %s\n", name+":", oneLine(text))
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
	columns := proseColumns(p.out, math.MaxInt)
	b.WriteString("\n" + wrap(printable(strings.TrimSpace(l.Description)), "", columns))
	if l.Files != "" {
		b.WriteString("\nIts folder:\n" + printable(l.Files))
	}
	if l.Body != "" {
		b.WriteString("\nIts instructions:\n" + printable(l.Body) + "\n")
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}
