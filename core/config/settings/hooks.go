package settings

import (
	"maps"
	"slices"
	"strconv"
)

// hooksKey is the key of hooks.
const hooksKey = "hooks"

// HookLayer is what one layer contributes to the hooks.
type HookLayer struct {
	Layer  Layer
	Source string         // as Origin.Source
	Events map[string]any // groups by event, as JSON holds them, variables put in
	// Refused says that they have no effect, as Origin.Refused does.
	Refused bool

	lines   map[string][]int
	secrets []string
}

// Line is where the i-th group of an event stands, 1-based; 0: not known.
func (h *HookLayer) Line(event string, i int) int {
	if lines := h.lines[event]; i < len(lines) {
		return lines[i]
	}
	return 0
}

// Shown is a text of the layer without the secrets that were put into it.
func (h *HookLayer) Shown(text string) string {
	shown, _ := hiding(text, h.secrets).(string)
	return shown
}

// HookLayers are the hooks of the layers that give some, the weakest first, those
// included that are refused. They must not be changed.
func (r *Result) HookLayers() []*HookLayer {
	var all []*HookLayer
	for _, o := range r.origins[hooksKey] {
		if o.hooks != nil {
			all = append(all, o.hooks)
		}
	}
	return all
}

// hooksOf is what a layer gives, of which value is what has an effect; nil for
// another key.
func hooksOf(e *entry, value any) *HookLayer {
	events, ok := e.value.(map[string]any)
	if e.key.Path != hooksKey || !ok {
		return nil
	}
	return &HookLayer{Layer: e.layer, Source: e.source, Events: events, Refused: value == nil, lines: e.groups, secrets: e.secrets}
}

// cutAt is how many steps below the key lies what a mistake takes away: of hooks
// one of them, where the mistake is in it.
func (e *entry) cutAt(steps []string) int {
	const hook = 4 // event, group, hooks, hook
	if e.key.Path == hooksKey && len(steps) >= hook && steps[2] == "hooks" {
		return hook
	}
	return min(e.key.cut, len(steps))
}

// placeGroups notes where the groups of each event stand.
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

// dropGroups forgets the places of groups that are taken away.
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

// dropForeignHooks takes away what files of the program that the layout gemini is
// for have among their events; what it means there stands in hooksConfig.
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
