package tui

import "strings"

// history holds the earlier inputs, oldest first, and the current input. A changed
// entry stays changed until an input is submitted.
type history struct {
	entries []string
	edited  map[int]string // by index; the current input has index len(entries)
	at      int            // index of the displayed entry
}

func newHistory(entries []string) history {
	return history{entries: entries, at: len(entries)}
}

// step moves by n entries, back if n < 0, and stores text as the edited form of the
// current one. It returns false if that entry does not exist.
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

// add appends a submitted input.
func (h *history) add(text string) {
	if n := len(h.entries); strings.TrimSpace(text) != "" && (n == 0 || h.entries[n-1] != text) {
		h.entries = append(h.entries, text)
	}
	h.edited, h.at = nil, len(h.entries)
}

// recalling reports whether an entry is displayed instead of the current input.
func (h *history) recalling() bool { return h.at != len(h.entries) }

// draft returns to the current input.
func (h *history) draft() string {
	text := h.edited[len(h.entries)]
	h.edited, h.at = nil, len(h.entries)
	return text
}

// forget removes the last submitted input if it equals text.
func (h *history) forget(text string) {
	if last := len(h.entries) - 1; last >= 0 && h.entries[last] == text {
		h.entries = h.entries[:last:last]
	}
	h.edited, h.at = nil, len(h.entries)
}

// find returns the index of the nearest entry after index from that contains text, in
// steps of n, which is 1 or -1; -1 for none. Case is ignored if text has only lower case.
func (h *history) find(text string, from, n int) int {
	fold := strings.ToLower(text) == text
	for i := from + n; i >= 0 && i < len(h.entries); i += n {
		entry := h.entries[i]
		if strings.Contains(entry, text) || fold && strings.Contains(strings.ToLower(entry), text) {
			return i
		}
	}
	return -1
}
