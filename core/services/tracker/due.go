package tracker

// DueAgain forgets the instructions that accesses of this session brought up, so
// that the next access brings them up anew. Those of its beginning stay
// given, and what is known of files is not touched.
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

// ForgetInstructions forgets all instructions that were given, those of the
// beginning too, so that they are found anew. What is known of files is not
// touched.
func (t *FileTracker) ForgetInstructions() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys, t.given, t.begun, t.start, t.bytes = nil, nil, false, nil, 0
}
