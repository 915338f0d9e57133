package chat

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// reopening is the request to open the session again with its conversation, because
// trust in its directory has changed. Trust is decided before anything of the project is
// read, so that a session that is opened again has all of its effects.
type reopening struct {
	state trust.State
	note  string // for the user, in the session that is opened

	history []model.Content // of a conversation that is not recorded
	dirs    []string        // the directories of the workspace
}

// chatTrust serves /permissions.
type chatTrust struct{ *chat }

// State implements [builtin.Trust].
func (c chatTrust) State() (dir, state string) { return c.targetDir(), c.config.Trust().String() }

// SetTrust implements [builtin.Trust]. Trust is recorded after the user has seen its
// effects and agreed. If the state of the session changes, the session is opened again.
func (c chatTrust) SetTrust(ctx context.Context, dir string, trusted bool) (string, error) {
	store, _, err := program.OpenTrust(c.global)
	if err != nil {
		return "", err
	}
	if dir == "" {
		dir = c.targetDir()
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.targetDir(), dir)
	}
	next := &reopening{state: trust.Untrusted}
	if trusted {
		next.state = trust.Trusted
		agreed, err := c.agreesToPowers(ctx, dir)
		if err != nil {
			return "", err
		}
		if !agreed {
			return "Cancelled; nothing was recorded.", nil
		}
	} else if err := userfiles.Approve(ctx, c.global, dir, nil, nil); err != nil {
		return "", err
	}
	if err := store.Set(ctx, dir, next.state); err != nil {
		return "", err
	}
	next.note = fmt.Sprintf("%s is recorded as %s.", display.Printable(dir), next.state)
	if next.dirs = (commandServices{c.config, c.log}).Directories(); len(next.dirs) == 0 {
		next.dirs = []string{c.targetDir()}
	}
	now, err := program.TrustOf(ctx, c.global, next.dirs)
	switch {
	case err != nil:
		return "", err
	case now == c.config.Trust():
		return next.note + " The trust of this session is unchanged: " + now.String() + ".", nil
	}
	next.state = now
	c.again = next
	return "", nil
}

// agreesToPowers asks whether a directory is trusted, with the effects of its files, and
// records the approval of those that need one.
func (c chatTrust) agreesToPowers(ctx context.Context, dir string) (bool, error) {
	powers, err := userfiles.PowersOf(ctx, c.global, dir)
	if err != nil {
		return false, err
	}
	inside := slices.DeleteFunc(slices.Clone(powers), userfiles.IsOutside)
	question := "Trust " + display.Printable(dir) + "?"
	if len(inside) > 0 {
		question += "\n\nIts project can then:\n\n" + strings.TrimSuffix(userfiles.ListPowers(inside), "\n")
	}
	if len(userfiles.OutsideOf(powers)) > 0 {
		question += "\n\nDirectories outside of the project are ignored until fettle trust --outside."
	}
	question += "\n\nThe session is opened again with its conversation. Background commands and approvals for the session end."
	if c.now == nil || !c.now.confirmed(ctx, "Trust", question) {
		return false, nil
	}
	return true, userfiles.Approve(ctx, c.global, dir, inside, nil)
}

// endForReopening ends the front end if the session is to be opened again.
func (w *work) endForReopening() {
	if w.chat.again == nil {
		return
	}
	w.mu.Lock()
	w.chat.left = "other"
	w.mu.Unlock()
	w.send(interactive.Event{Kind: interactive.EventReopen})
}

// carryOver puts the state of the session that ends into the flags of the next one: its
// conversation, and the model and mode if the user has changed them.
func (c *chat) carryOver(opened openedWith) {
	next := c.again
	c.Flags.First, c.Flags.Resume, c.Flags.SessionID = "", "", ""
	history := c.client.History()
	switch {
	case len(history) > 0 && c.kept.Recording != nil:
		c.Flags.Resume = c.config.SessionID()
	case len(history) > 0:
		c.Flags.SessionID, next.history = c.config.SessionID(), history
	}
	if name := c.config.Model(); name != opened.model {
		c.global.Model = name
	}
	mode := c.config.ApprovalMode()
	switch {
	case mode == policy.ModeYolo && next.state == trust.Untrusted:
		next.note += " The approval mode is default: yolo is refused in untrusted directories."
		c.global.SetMode(policy.ModeDefault)
	case mode != opened.mode:
		c.global.SetMode(mode)
	}
}

// openedWith is the state of a session when it was opened.
type openedWith struct {
	model string
	mode  policy.ApprovalMode
}

// bringOver adds the rest of the state of the previous session to a session that was
// opened again.
func (c *chat) bringOver(ctx context.Context) error {
	if c.carried == nil {
		return nil
	}
	if history := c.carried.history; len(history) > 0 {
		if err := c.client.SetHistory(ctx, history); err != nil {
			return err
		}
	}
	have := commandServices{c.config, c.log}.Directories()
	for _, dir := range c.carried.dirs {
		if slices.Contains(have, dir) {
			continue
		}
		if err := c.config.AddDirectory(ctx, dir); err != nil {
			c.notices.add(fault.Line(err))
		}
	}
	return nil
}

// reopened states what changed in a session that was opened again, once its hooks have run.
func (w *work) reopened() {
	w.message(interactive.LevelInfo, "%s The session was opened again, so that this has taken effect. Background commands and approvals for the session have ended.", w.carried.note)
}
