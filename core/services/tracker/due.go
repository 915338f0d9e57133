package tracker

// DueAgain forgets the instructions that accesses of this session loaded, so that the next access
// loads them again. It keeps those loaded at the beginning and the state of files.
func (t *FileTracker) DueAgain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given = nil
	t.keys, t.bytes = make(map[string]bool, len(t.start)), 0
	for _, d := range t.start {
		t.keys[d.Key] = true
		t.bytes += len(d.Text)
	}
}

// ForgetInstructions forgets all loaded instructions, including those of the beginning, so that
// they are loaded again. It keeps the state of files.
func (t *FileTracker) ForgetInstructions() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys, t.given, t.begun, t.start, t.bytes = nil, nil, false, nil, 0
}
