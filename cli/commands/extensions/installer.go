package extensions

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// installer is the user who installs an extension, at the terminal if there is one.
// Questions are shown on stderr.
type installer struct {
	*approval.Prompter
	p       *program.Program
	agreed  bool                 // in advance, with --consent
	missing []extensions.Setting // settings without a value because no user could be asked
}

// newInstaller returns an installer and a function that closes it.
func newInstaller(p *program.Program, agreed bool) (*installer, func()) {
	asked, done := approval.NewPrompter(p.In, p.Err)
	return &installer{Prompter: asked, p: p, agreed: agreed}, done
}

// Agree shows the abilities of the extension, and asks for consent.
func (i *installer) Agree(ctx context.Context, c extensionstore.Consent) (bool, error) {
	i.Printf("%s", display.Printable(c.Text()))
	if i.agreed {
		return true, nil
	}
	if !i.IsThere() {
		return false, fault.New(fault.NoApprover, "cli.extensions", fmt.Sprintf("The extension %s is unchanged: no approver is available to consent to this.", c.Name),
			"Run the command in a terminal, or add --consent.")
	}
	return i.Agrees(ctx, "Go on?")
}

// Value asks for the value of a setting; an empty line gives none.
func (i *installer) Value(ctx context.Context, s extensions.Setting) (value string, ok bool, err error) {
	if !i.IsThere() {
		i.missing = append(i.missing, s)
		return "", false, nil
	}
	about := ""
	if s.Description != "" {
		about = ": " + display.Line(s.Description)
	}
	i.Printf("%s (%s)%s\n", display.Line(s.Name), display.Line(s.EnvVar), about)
	value, err = i.Read(ctx, s.Sensitive)
	if err != nil {
		return "", false, err
	}
	if value == "" {
		i.missing = append(i.missing, s)
	}
	return value, value != "", nil
}

// printMissing reports settings without a value.
func (i *installer) printMissing(name string) {
	for _, s := range i.missing {
		i.p.PrintError(fault.New(fault.InvalidConfig, "cli.extensions", fmt.Sprintf("The setting %s of %s has no value yet.", s.Name, name),
			fmt.Sprintf("Set it with fettle extensions config %s %s.", name, s.EnvVar)))
	}
}
