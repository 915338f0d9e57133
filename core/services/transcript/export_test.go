package transcript

import "os"

// WriteTo makes w write to another file, for example one on a full disk.
func (w *Writer) WriteTo(f *os.File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.f.Close()
	w.f = f
}
