package process

import "sync"

// domain is a thread that is confined permanently and starts commands. They inherit its
// restrictions and share its Landlock scope. The zero value has no thread yet. It is safe for
// concurrent use.
type domain struct {
	mu     sync.Mutex
	of     string      // the rules that confine it
	starts chan func() // functions to run on the thread; nil: there is no thread
	ended  chan struct{}
}

// run runs f on the thread. A thread with other rules is replaced first; run returns the error of
// confine, which runs on the new thread.
func (d *domain) run(of string, confine func() error, f func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.starts != nil && d.of != of {
		d.stop()
	}
	if d.starts == nil {
		starts, ended, ready := make(chan func()), make(chan struct{}), make(chan error)
		go func() {
			defer close(ended)
			apart(func() {
				err := confine()
				ready <- err
				if err != nil {
					return
				}
				for f := range starts {
					f()
				}
			})
		}()
		if err := <-ready; err != nil {
			<-ended
			return err
		}
		d.of, d.starts, d.ended = of, starts, ended
	}
	done := make(chan struct{})
	d.starts <- func() {
		defer close(done)
		f()
	}
	<-done
	return nil
}

// stop ends the thread and waits for it.
func (d *domain) stop() {
	close(d.starts)
	<-d.ended
	d.starts = nil
}

// end ends the thread, if there is one.
func (d *domain) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.starts != nil {
		d.stop()
	}
}
