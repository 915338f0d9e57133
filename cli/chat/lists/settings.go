package lists

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/docs"
)

// Unset is the argument of /settings that removes a key from the user's settings.
const Unset = "--unset"

// Settings returns the list of settings that have an effect, with a key selected.
func Settings(r *settings.Result, o settings.Options, selected string) interactive.Pick {
	descriptions := settingDescriptions()
	p := interactive.Pick{Title: "Settings", Usage: "/settings KEY VALUE changes yours; fettle config show --origin shows all layers."}
	for _, k := range settings.Keys() {
		if k.Unused {
			continue
		}
		name := settings.NameIn(o.Layout, k.Path)
		description := descriptions[k.Path]
		if layer := r.InForce(k.Path).Layer; layer != "" && layer != settings.LayerDefault {
			description = "(" + string(layer) + ") " + description
		}
		p.Items = append(p.Items, interactive.PickItem{
			Name: name, State: userfiles.JSONText(r.Shown(k.Path)), Description: description,
			Detail: settingDetail(r, k, descriptions[k.Path]), Submit: "/settings " + name, Selected: k.Path == selected,
		})
	}
	return p
}

// settingDetail describes a key and its value in each layer, the effective one first.
func settingDetail(r *settings.Result, k settings.Key, description string) string {
	lines := []string{description, "Takes " + k.Expected + "."}
	for _, o := range r.Origins(k.Path) {
		line := fmt.Sprintf("%s: %s", o.Layer, userfiles.JSONText(settings.Masked(k.Path, o.Value)))
		if o.Source != "" {
			line += ", " + o.Source
		}
		if o.Line > 0 {
			line += fmt.Sprintf(":%d", o.Line)
		}
		if o.Refused != "" {
			line += " (without effect: " + o.Refused + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// settingDescriptions returns the descriptions of the keys from the schema of settings
// files.
func settingDescriptions() map[string]string {
	type node struct {
		Description string
		Properties  map[string]json.RawMessage
		AnyOf       []json.RawMessage // a group that accepts a single value, too
	}
	all := map[string]string{}
	var walk func(path string, raw json.RawMessage)
	walk = func(path string, raw json.RawMessage) {
		var n node
		if json.Unmarshal(raw, &n) != nil {
			return
		}
		all[path] = cmp.Or(all[path], n.Description)
		for _, form := range n.AnyOf {
			walk(path, form)
		}
		for name, below := range n.Properties {
			walk(strings.TrimPrefix(path+"."+name, "."), below)
		}
	}
	walk("", docs.SettingsSchema())
	return all
}

// Values returns the list of the values of an enumeration.
func Values(key string, values []string, current any) interactive.Pick {
	p := interactive.Pick{Title: key, Usage: "/settings " + key + " VALUE selects a value."}
	for _, value := range values {
		item := interactive.PickItem{Name: value, Submit: "/settings " + key + " " + value, Selected: value == current}
		if item.Selected {
			item.State = "current"
		}
		p.Items = append(p.Items, item)
	}
	p.Items = append(p.Items, interactive.PickItem{Name: "(remove)", Description: "use the value of the other layers", Submit: "/settings " + key + " " + Unset})
	return p
}
