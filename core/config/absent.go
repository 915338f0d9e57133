package config

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/tools"
)

// absent says which setting keeps a built-in tool away that would be there
// without it; see [tools.RegistryOptions].
func (c *Config) absent(sh *shared) func(name string) string {
	return func(name string) string {
		if !slices.Contains(DefaultTools(c.params().Layout), name) {
			return ""
		}
		key, says := "", ""
		switch p := c.params(); {
		case !tools.Selection{Exclude: c.excluded()}.Includes(tools.Spec{Name: name}, true):
			return "" // policy denies it, and names the entry
		case p.CoreTools != nil:
			key, says = "tools.core", "does not list it"
		case name == "activate_skill" && p.Skills.Disabled:
			key, says = "skills.enabled", "is false"
		}
		if key == "" || sh.settings == nil {
			return ""
		}
		o := sh.settings.current().InForce(key)
		if o.Layer == settings.LayerDefault || o.Layer == "" {
			return "" // the embedder's own choice
		}
		return fmt.Sprintf("The setting %s (%s) %s.", key, Place{Source: o.Source, Line: o.Line}, says)
	}
}
