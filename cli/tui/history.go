package tui

import "strings"

// history is what was typed before, the oldest first, and what is typed now. An
// entry that was changed stays so until something is submitted.
type history struct {
	entries []string
	edited  map[int]string // by index; that of now is len(entries)
	at      int            // index of what is shown
}

func newHistory(entries []string) history {
	return history{entries: entries, at: len(entries)}
}

// step goes n entries on, back if n < 0, from the one that shows text. It reports
// false where there is none.
func (h *history) step(n int, text string) (string, bool) {
	to := h.at + n
	if to < 0 || to > len(h.entries) {
		return "", false
	}
	if h.edited == nil {
		h.edited = map[int]string{}
	}
	h.edited[h.at] = text
	h.at = to
	return h.show(to), true
}

func (h *history) show(i int) string {
	if text, is := h.edited[i]; is {
		return text
	}
	if i < len(h.entries) {
		return h.entries[i]
	}
	return ""
}

// add takes what was submitted.
func (h *history) add(text string) {
	if n := len(h.entries); strings.TrimSpace(text) != "" && (n == 0 || h.entries[n-1] != text) {
		h.entries = append(h.entries, text)
	}
	h.edited, h.at = nil, len(h.entries)
}

// recalling reports whether an entry is shown, not what is typed now.
func (h *history) recalling() bool { return h.at != len(h.entries) }

// draft goes back to what is typed now.
func (h *history) draft() string {
	text := h.edited[len(h.entries)]
	h.edited, h.at = nil, len(h.entries)
	return text
}

// forget takes back what was submitted last, if it is text.
func (h *history) forget(text string) {
	if last := len(h.entries) - 1; last >= 0 && h.entries[last] == text {
		h.entries = h.entries[:last:last]
	}
	h.edited, h.at = nil, len(h.entries)
}

// find returns the index of the last entry before i that contains text, -1 for none.
func (h *history) find(text string, before int) int {
	for i := min(before, len(h.entries)) - 1; i >= 0; i-- {
		if strings.Contains(h.entries[i], text) {
			return i
		}
	}
	return -1
}
