package tracker

// ForgetLoadedByAccess forgets the instructions that accesses of this session loaded, so that the next access
// loads them again. It keeps those loaded at the beginning and the state of files.
func (t *FileTracker) ForgetLoadedByAccess() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byAccess = nil
	t.loaded, t.bytes = make(map[string]bool, len(t.atStart)), 0
	for _, d := range t.atStart {
		t.loaded[d.Key] = true
		t.bytes += len(d.Text)
	}
}

// ForgetInstructions forgets all loaded instructions, including those of the beginning, so that
// they are loaded again. It keeps the state of files.
func (t *FileTracker) ForgetInstructions() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loaded, t.byAccess, t.started, t.atStart, t.bytes = nil, nil, false, nil, 0
}
