package settings

import (
	"maps"
	"slices"
	"strconv"
)

// hooksKey is the key of hooks.
const hooksKey = "hooks"

// HookLayer contains the hooks of one layer.
type HookLayer struct {
	Layer  Layer
	Source string         // as Origin.Source
	Events map[string]any // groups by event, as in JSON, with variables expanded
	// Refused states that they have no effect, as Origin.Refused does.
	Refused bool

	lines   map[string][]int
	secrets []string
}

// Line returns the position of the i-th group of an event, 1-based; 0: unknown.
func (h *HookLayer) Line(event string, i int) int {
	if lines := h.lines[event]; i < len(lines) {
		return lines[i]
	}
	return 0
}

// Shown returns a text of the layer with expanded secrets masked.
func (h *HookLayer) Shown(text string) string {
	shown, _ := hiding(text, h.secrets).(string)
	return shown
}

// HookLayers returns the hooks of all layers that contain some, in order of
// increasing precedence, including refused ones. They must not be modified.
func (r *Result) HookLayers() []*HookLayer {
	var all []*HookLayer
	for _, o := range r.origins[hooksKey] {
		if o.hooks != nil {
			all = append(all, o.hooks)
		}
	}
	return all
}

// hooksOf returns a layer's hooks, value being the effective part; nil for
// another key.
func hooksOf(e *entry, value any) *HookLayer {
	events, ok := e.value.(map[string]any)
	if e.key.Path != hooksKey || !ok {
		return nil
	}
	return &HookLayer{Layer: e.layer, Source: e.source, Events: events, Refused: value == nil, lines: e.groups, secrets: e.secrets}
}

// cutAt returns how many steps below the key the part lies that a mistake
// removes: of hooks one of them, if the mistake is within it.
func (e *entry) cutAt(steps []string) int {
	const hook = 4 // event, group, hooks, hook
	if e.key.Path == hooksKey && len(steps) >= hook && steps[2] == "hooks" {
		return hook
	}
	return min(e.key.cut, len(steps))
}

// placeGroups records the positions of the groups of each event.
func (e *entry) placeGroups() {
	events, _ := e.value.(map[string]any)
	e.groups = map[string][]int{}
	for name, groups := range events {
		list, _ := groups.([]any)
		lines := make([]int, len(list))
		for i := range list {
			if lines[i] = e.line; e.node == nil {
				continue
			}
			if n := e.node.Find(pointer([]string{name, strconv.Itoa(i)})); n != nil {
				lines[i], _ = e.doc.Place(n.StartOffset)
			}
		}
		e.groups[name] = lines
	}
}

// dropGroups removes the positions of removed groups.
func (e *entry) dropGroups(cuts map[string]bool) {
	for _, name := range slices.Collect(maps.Keys(e.groups)) {
		var kept []int
		for i, line := range e.groups[name] {
			if !cuts[pointer([]string{name, strconv.Itoa(i)})] {
				kept = append(kept, line)
			}
		}
		e.groups[name] = kept
	}
}

// dropForeignHooks removes entries of gemini-cli's files that are not events;
// hooksConfig contains their equivalents.
func (e *entry) dropForeignHooks() {
	events, ok := e.value.(map[string]any)
	if !ok {
		return
	}
	events = maps.Clone(events)
	for _, name := range []string{"enabled", "disabled", "notifications"} {
		delete(events, name)
	}
	e.value = events
}
