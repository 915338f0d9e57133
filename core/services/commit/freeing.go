package commit

import (
	"os"
	"sync"
)

// freeing closes removed files in the background: the last close frees the space, for which a file
// system may take as long as for a flush. The zero value is ready to use.
type freeing struct {
	mu      sync.Mutex
	slots   chan struct{} // one for each file that is being closed; nil: no file was removed yet
	waiting sync.Mutex    // held by the one call of wait that takes the slots
}

// begun returns the slots.
func (f *freeing) begun() chan struct{} {
	const most = 4 // at once; the callers close further ones themselves
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots == nil {
		f.slots = make(chan struct{}, most)
	}
	return f.slots
}

func (f *freeing) close(file *os.File) {
	if !replacesOpenFiles {
		closeFile(file) // until then its name is in use
		return
	}
	slots := f.begun()
	select {
	case slots <- struct{}{}:
		go func() {
			defer func() { <-slots }()
			closeFile(file)
		}()
	default:
		closeFile(file)
	}
}

// wait returns once all files are closed. Each commit begins with it, so that the space of the files
// that the commits before it removed is free.
func (f *freeing) wait() {
	f.mu.Lock()
	slots := f.slots
	f.mu.Unlock()
	f.waiting.Lock()
	defer f.waiting.Unlock()
	for range cap(slots) {
		slots <- struct{}{}
	}
	for range cap(slots) {
		<-slots
	}
}
