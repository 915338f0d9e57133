package custom

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// Scopes of an installed skill.
const (
	scopeUser    = "user"
	scopeProject = "project"
)

// installedSkills is the JSON output of install and link.
type installedSkills struct {
	Names []string `json:"names"`
	Dir   string   `json:"dir"`
}

func skillsInstallCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return skillsAddCommand(p, g, false, "install SOURCE [NAME…]", "Install skills from a directory, an archive or a git repository",
		`Copies skills from a directory, an archive (.skill, .zip, .tar.gz) or a Git
repository into your directory of skills, or that of the project: those with the given
names, or all. The command shows the skills first and asks for consent, unless
--consent is given.`)
}

func skillsLinkCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return skillsAddCommand(p, g, true, "link DIR [NAME…]", "Use the skills in a directory without copying them",
		`Adds the skills in a directory to yours without copying their files, for the
development of a skill: changes take effect in the next session. A project's skills
cannot be linked.`)
}

func skillsAddCommand(p *program.Program, g *program.Flags, link bool, use, short, long string) *cobra.Command {
	r := extensionstore.SkillRequest{Link: link}
	var consent, asJSON bool
	scope := ""
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return program.UsageError("The source of the skills is missing.", "Example: fettle skills install ./my-skills.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Source, r.Names, r.Environ = args[0], args[1:], os.Environ()
			if moved := program.Under(g, r.Source); g.Cwd != "" && program.Exists(moved) {
				r.Source = moved
			}
			return changesSkills(cmd.Context(), p, g, scope, func(store *extensionstore.Store, dir string) error {
				r.Dir = dir
				user := &skillUser{p: p, agreed: consent}
				asked, done := approval.NewPrompter(p.In, p.Err)
				defer done()
				user.Prompter = asked
				names, err := store.InstallSkills(cmd.Context(), r, user)
				if err != nil {
					return err
				}
				if asJSON {
					return program.PrintJSON(p.Out, installedSkills{names, dir})
				}
				did := "Installed in"
				if link {
					did = "Linked in"
				}
				_, err = fmt.Fprintf(p.Out, "%s %s: %s.\n", did, display.Printable(dir), display.Line(strings.Join(names, ", ")))
				return err
			})
		},
	}
	f := cmd.Flags()
	if !link {
		f.StringVar(&r.Ref, "ref", "", "branch, tag or full commit `hash` of the repository (default: its default branch)")
		f.Var(program.NewChoice(&scope, scopeUser, scopeProject), "scope", "scope: user|project")
	}
	f.BoolVar(&consent, "consent", false, "consent to the skills")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func skillsUninstallCommand(p *program.Program, g *program.Flags) *cobra.Command {
	scope := ""
	cmd := &cobra.Command{
		Use:   "uninstall NAME",
		Short: "Remove an installed or linked skill",
		Args:  program.ExactlyOne("Exactly one skill name is required.", "fettle skills list --all lists them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changesSkills(cmd.Context(), p, g, scope, func(store *extensionstore.Store, dir string) error {
				if err := store.UninstallSkill(cmd.Context(), dir, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(p.Out, "The skill %s is removed from %s.\n", display.Line(args[0]), display.Printable(dir))
				return err
			})
		},
	}
	cmd.Flags().Var(program.NewChoice(&scope, scopeUser, scopeProject), "scope", "scope: user|project")
	return cmd
}

// changesSkills passes the store and the directory of skills of a scope. In an untrusted
// directory skills are neither added nor removed.
func changesSkills(ctx context.Context, p *program.Program, g *program.Flags, scope string, use func(store *extensionstore.Store, dir string) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		target := s.Config().TargetDir()
		state, err := program.TrustOf(ctx, g, []string{target})
		if err != nil {
			return program.TrustFailure(err)
		}
		if state == trust.Untrusted || scope == scopeProject && state != trust.Trusted {
			return &program.ExitError{Code: program.ExitUntrusted, Err: fault.New(fault.UntrustedFolder, "cli.skills",
				fmt.Sprintf("The skills are unchanged, because %s is not trusted.", target), "Run the command in another directory, or run fettle trust.")}
		}
		store, err := s.Config().Extensions().Store()
		if err != nil {
			return err
		}
		dir, err := skillsDir(s, scope)
		if err != nil {
			return err
		}
		err = use(store, dir)
		switch fault.CodeOf(err) {
		case fault.InvalidToolParams:
			return &program.ExitError{Code: program.ExitUsage, Err: err}
		case fault.PolicyViolation, fault.DeniedByUser, fault.NoApprover:
			return &program.ExitError{Code: program.ExitDenied, Err: err}
		case fault.Cancelled:
			return program.Interrupted()
		}
		return err
	})
}

// skillUser consents to skills, at the terminal if there is one.
type skillUser struct {
	*approval.Prompter
	p      *program.Program
	agreed bool
}

// Agree shows the skills, and asks for consent.
func (u *skillUser) Agree(ctx context.Context, c extensionstore.Consent) (bool, error) {
	u.Printf("%s", display.Printable(c.Text()))
	if u.agreed {
		return true, nil
	}
	if !u.IsThere() {
		return false, fault.New(fault.NoApprover, "cli.skills", "No skill was installed: no approver is available to consent to this.", "Run the command in a terminal, or add --consent.")
	}
	return u.Agrees(ctx, "Go on?")
}

// Value implements [extensionstore.User]; skills have no settings.
func (u *skillUser) Value(context.Context, extensions.Setting) (string, bool, error) {
	return "", false, nil
}

// skillsDir returns the directory of skills of a scope.
func skillsDir(s program.Session, scope string) (string, error) {
	c := s.Config()
	if scope == scopeProject {
		return filepath.Join(c.TargetDir(), c.Layout().Dir, "skills"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.Wrap(fault.InvalidConfig, "cli.skills", "There is no directory for skills, because the home directory is unknown.", "Set HOME.", err)
	}
	return filepath.Join(home, c.Layout().Dir, "skills"), nil
}
