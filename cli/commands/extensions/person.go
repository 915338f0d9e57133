package extensions

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// installer is the person who installs an extension, at the terminal if there is
// one. All that is asked is shown on stderr.
type installer struct {
	*approval.Prompter
	p       *program.Program
	agreed  bool                 // beforehand, by --consent
	missing []extensions.Setting // that nobody was there to give a value to
}

// newInstaller returns the person, and what ends that.
func newInstaller(p *program.Program, agreed bool) (*installer, func()) {
	asked, done := approval.NewPrompter(p.In, p.Err)
	return &installer{Prompter: asked, p: p, agreed: agreed}, done
}

// Agree shows what the extension will be able to do, and asks.
func (i *installer) Agree(ctx context.Context, c extensions.Consent) (bool, error) {
	i.Say("%s", display.Printable(c.Text()))
	if i.agreed {
		return true, nil
	}
	if !i.IsThere() {
		return false, fault.New(fault.NoApprover, "cli.extensions", fmt.Sprintf("The extension %s is left as it was: nobody could be asked whether it may do this.", c.Name),
			"Run it in a terminal, or add --consent if you agree.")
	}
	return i.Agrees(ctx, "Go on?")
}

// Value asks for the value of a setting; Enter alone gives none.
func (i *installer) Value(ctx context.Context, s extensions.Setting) (value string, ok bool, err error) {
	if !i.IsThere() {
		i.missing = append(i.missing, s)
		return "", false, nil
	}
	about := ""
	if s.Description != "" {
		about = ": " + display.Line(s.Description)
	}
	i.Say("%s (%s)%s\n", display.Line(s.Name), display.Line(s.EnvVar), about)
	value, err = i.Read(ctx, s.Sensitive)
	if err != nil {
		return "", false, err
	}
	if value == "" {
		i.missing = append(i.missing, s)
	}
	return value, value != "", nil
}

// tellMissing tells of settings that were given no value.
func (i *installer) tellMissing(name string) {
	for _, s := range i.missing {
		i.p.Complain(fault.New(fault.InvalidConfig, "cli.extensions", fmt.Sprintf("The setting %s of %s has no value yet.", s.Name, name),
			fmt.Sprintf("Give it one with fettle extensions config %s %s.", name, s.EnvVar)))
	}
}
