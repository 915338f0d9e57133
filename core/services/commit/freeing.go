package commit

import (
	"os"
	"sync"
)

// freeing closes removed files in the background: the last close frees the space, for which a file
// system may take as long as for a flush.
type freeing struct {
	slots   chan struct{} // one for each file that is being closed
	waiting sync.Mutex    // held by the one call of wait that takes the slots
}

func newFreeing() *freeing {
	const most = 4 // at once; the callers close further ones themselves
	return &freeing{slots: make(chan struct{}, most)}
}

func (f *freeing) close(file *os.File) {
	if !replacesOpenFiles {
		closeFile(file) // until then its name is in use
		return
	}
	select {
	case f.slots <- struct{}{}:
		go func() {
			defer func() { <-f.slots }()
			closeFile(file)
		}()
	default:
		closeFile(file)
	}
}

// wait returns once all files are closed. Each commit begins with it, so that the space of the files
// that the commits before it removed is free.
func (f *freeing) wait() {
	f.waiting.Lock()
	defer f.waiting.Unlock()
	for range cap(f.slots) {
		f.slots <- struct{}{}
	}
	for range cap(f.slots) {
		<-f.slots
	}
}
