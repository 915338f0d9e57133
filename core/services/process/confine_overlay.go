package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/gitdir"
	"github.com/fettle-dev/fettle/core/services/sandbox"
)

// overlaid starts commands in namespaces of their own, with overlays. None of a command's processes
// outlives it.
type overlaid struct {
	enclosed
	how     Confine
	session *sandbox.Session
	guard   *sandbox.Guard              // nil: the command only reads
	settle  func(context.Context) error // ends the use of the overlays
	err     error                       // of settle
}

// remedyOfFork is what allows commands that an overlay does not.
const remedyOfFork = "Set fork.copy to true in settings.json, so that forks are copies."

// forkUnsupported returns the error for a command that cannot run in overlays.
func forkUnsupported(message, remedy string, cause error) error {
	return fault.Wrap(fault.ForkUnsupported, confining, message, remedy, cause)
}

// supportsOverlays returns an error if this system cannot confine commands by namespaces.
func supportsOverlays() error {
	if err := sandbox.Probe(); err != nil {
		return forkUnsupported(fmt.Sprintf("Commands cannot run in this fork: %v.", err), "Allow unprivileged user namespaces. "+remedyOfFork, err)
	}
	return nil
}

// admitted returns an error if the command cannot run in overlays.
func (o *overlaid) admitted() error {
	switch {
	case o.how == ConfineNone:
		return forkUnsupported("A command in a fork cannot run without confinement; nothing was started.", "Run the command without unconfined. "+remedyOfFork, nil)
	case o.last:
		return forkUnsupported("A process in a fork cannot run in the background; nothing was started.", "Run it in the foreground, and let it end by itself. "+remedyOfFork, nil)
	}
	return supportsOverlays()
}

// begin starts the command. If a step fails, nothing is started.
func (o *overlaid) begin(cmd *exec.Cmd) (err error) {
	c := o.s.confinement()
	if err := o.admitted(); err != nil {
		return err
	}
	overlays, settle, err := c.Overlays(o.ctx, !o.read)
	if err != nil {
		return err
	}
	o.settle = settle
	defer func() {
		if err == nil {
			return
		}
		if settling := settle(context.WithoutCancel(o.ctx)); settling != nil {
			err = errors.Join(err, settling)
		}
	}()
	rules, err := o.rules(c, cmd, overlays)
	if err != nil {
		return err
	}
	if rules, err = o.caches(c, cmd, rules); err != nil {
		return err
	}
	if !o.read {
		if rules.Protected, err = o.protect(c, rules); err != nil {
			return err
		}
	}
	rules.Pinned = c.pinned(rules)
	o.session = o.s.spaces.take(c)
	if err := o.session.Start(cmd, rules); err != nil {
		o.s.spaces.give(o.session)
		return refused("namespaces", err)
	}
	return nil
}

// rules returns the rules for a command, without caches and protected paths.
func (o *overlaid) rules(c *Confinement, cmd *exec.Cmd, overlays []sandbox.Overlay) (r sandbox.Rules, err error) {
	if r.Temp, err = o.s.temporaryDirectory(); err != nil {
		return r, err
	}
	r.ReadOnly, r.Overlays = o.read, overlays
	for _, overlay := range overlays {
		r.Writable = append(r.Writable, overlay.Dir)
	}
	r.Readable = append(slices.Concat(c.Readable, c.Writable), cmd.Path)
	if c.Masked == nil {
		return r, nil
	}
	paths, err := c.Masked(o.ctx)
	if err != nil {
		return r, refused("masked paths", err)
	}
	for _, path := range paths {
		real, err := r.Resolve(path)
		switch {
		case err == nil:
			r.Masked = append(r.Masked, real)
		case !errors.Is(err, os.ErrNotExist):
			return r, refused(path, err)
		}
	}
	return r, nil
}

// protect returns the protected paths that the command sees, and begins to observe new ones. In a fork
// each .git is protected, and so are the files of other repositories that the command creates.
func (o *overlaid) protect(c *Confinement, r sandbox.Rules) ([]string, error) {
	var dirs []string
	for _, overlay := range r.Overlays {
		dirs = append(dirs, overlay.Dir)
	}
	below := func(path string) bool {
		return strings.EqualFold(filepath.Base(path), ".git") || c.IsProtected != nil && c.IsProtected(path)
	}
	all := o.s.spaces.below(below).Existing(dirs)
	if c.Protected != nil {
		for _, path := range c.Protected(all) {
			inside := slices.ContainsFunc(dirs, func(dir string) bool { return dir != path && sandbox.Below(dir, path) })
			if inside && !slices.ContainsFunc(dirs, func(dir string) bool { return sandbox.Below(path, dir) }) {
				all = append(all, path)
			}
		}
	}
	exists := func(path string) bool { _, err := r.Lstat(path); return err == nil }
	isProtected := func(path string) bool {
		return slices.Contains(all, path) || below(path) || gitdir.IsMemberIn(path, exists)
	}
	removed := r.Temp + "-removed"
	if c.Cache != "" {
		removed = filepath.Join(c.Cache, "removed")
	}
	guard := sandbox.NewGuard(r.Overlays, isProtected, func() (string, error) { return removed, os.MkdirAll(removed, 0o700) })
	existing, err := guard.Begin()
	if err != nil {
		return nil, refused("protected paths", err)
	}
	o.guard = guard
	return withTargets(slices.Concat(all, existing), dirs, r.Resolve), nil
}

// ended ends the processes that the command has left, also those that are not found by its session or
// environment.
func (o *overlaid) ended(Exit) { o.s.spaces.give(o.session) }

// remain reports whether processes run besides the started one.
func (o *overlaid) remain() bool { return o.session != nil && o.session.Busy() }

func (o *overlaid) removed() (paths []string, err error) {
	if o.guard != nil {
		paths, err = o.guard.End()
	}
	o.err = o.settle(context.WithoutCancel(o.ctx))
	return paths, err
}
