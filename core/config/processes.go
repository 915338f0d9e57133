package config

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/services/process"
)

// Commands say how run_shell_command runs what it is given. The zero value is
// a sensible session.
type Commands struct {
	// Total ends a command that runs longer. Zero: 1 hour; negative: no limit.
	// Idle ends one that prints nothing for so long. Zero: 5 minutes; negative:
	// no limit. Neither holds for background processes.
	Total, Idle time.Duration
	// Environ returns the environment that commands inherit. nil: os.Environ.
	Environ func() []string
}

// processOptions are those of a conversation's commands.
func (c *Config) processOptions(sh *shared) process.Options {
	o := process.Options{
		Marker: c.params.Layout.CommandMarker,
		Total:  c.params.Commands.Total, Idle: c.params.Commands.Idle, Environ: c.params.Commands.Environ,
	}
	if dir, err := c.projectTmp(sh.workspace.Target()); err == nil {
		o.SaveDir = filepath.Join(dir, outputFolder)
	}
	return o
}

// outputFolder holds the outputs that were too long to be shown, below the
// user's folder for the project.
const outputFolder = "output"

// processes are the process services of a Config and of those derived from it,
// so that nothing that one of them has started outlives the first. The zero
// value has none.
type processes struct {
	mu     sync.Mutex
	opened map[*process.Service]struct{}
	ended  bool
}

// open makes a service; after closeAll one that is closed.
func (p *processes) open(o process.Options) *process.Service {
	s := process.New(o)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = s.Close() // always nil; nothing has been started
		return s
	}
	if p.opened == nil {
		p.opened = make(map[*process.Service]struct{})
	}
	p.opened[s] = struct{}{}
	return s
}

// close ends all that s has started, and waits for it.
func (p *processes) close(s *process.Service) error {
	err := s.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.opened, s)
	return err
}

// closeAll closes every service at once.
func (p *processes) closeAll() error {
	p.mu.Lock()
	p.ended = true
	all := slices.Collect(maps.Keys(p.opened))
	p.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, s := range all {
		closing.Go(func() { errs[i] = p.close(s) })
	}
	closing.Wait()
	return errors.Join(errs...)
}
